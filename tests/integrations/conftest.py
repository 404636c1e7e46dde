"""LangChain's standard suites hold plain ``async def`` tests: mark them here, whatever mode pytest is in."""

import inspect

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector, name, obj):
    if name.startswith("test") and inspect.iscoroutinefunction(obj) and _has_asyncio(collector.config):
        pytest.mark.asyncio(obj)


def _has_asyncio(config):
    return config.pluginmanager.has_plugin("asyncio")
