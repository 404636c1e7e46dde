"""From a notebook to an application: the program that puts a tuned retriever before a prompt."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from ragkit.frames import check_top_k

_PROGRAM = '''{setup}

from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

from ragkit.integrations.langchain import RagkitRetriever

retriever = RagkitRetriever(
    source={source},
    k={k},
    params={{{knobs}}},
)


def as_context(documents):
    """Number the passages, so that the answer can point at them."""
    return "\\n\\n".join(f"[{{n}}] {{doc.page_content}}" for n, doc in enumerate(documents, 1))


prompt = ChatPromptTemplate.from_messages(
    [
        (
            "system",
            "Answer from the passages alone and cite them by number. "
            "If they do not hold the answer, say so.\\n\\n{{context}}",
        ),
        ("human", "{{question}}"),
    ]
)


def make_chain(model):
    """Put the retriever before a prompt and a chat model."""
    inputs = {{"context": retriever | as_context, "question": RunnablePassthrough()}}
    return inputs | prompt | model | StrOutputParser()


# chain = make_chain(your_chat_model)
# chain.invoke({query!r})
'''


def script(
    setup: str | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    source: str = "hybrid",
    query: str = "your question",
) -> str:
    """Write the program that builds a tuned retriever and puts it in front of a prompt template.

    Parameters
    ----------
    setup : str or None, default=None
        The lines that load the data and build what retrieves; None writes a comment that says what is
        needed.
    params : mapping, optional
        Knobs of the search, such as ``panel.params``. ``top_k`` becomes the retriever's `k`. A filter that is
        not a dict is written as the name ``where``, which `setup` must define.
    source : str, default="hybrid"
        Name of what retrieves, as `setup` calls it.
    query : str, default="your question"
        A question, for the comment that shows the call.

    Returns
    -------
    str
        A program; it ends with ``make_chain(model)``, which takes any LangChain chat model.

    Raises
    ------
    ValueError
        If `source` is not a name, or a knob cannot be written as Python.

    See Also
    --------
    ragkit.integrations.langchain.RagkitRetriever : What the program builds.

    Examples
    --------
    >>> program = script("hybrid = ...", {"top_k": 3, "lambda_": 0.7})
    >>> print("\\n".join(program.splitlines()[8:14]))
    retriever = RagkitRetriever(
        source=hybrid,
        k=3,
        params={
            'lambda_': 0.7,
        },
    """
    if not source.isidentifier():
        raise ValueError(f"source must be the name of a variable; got {source!r}.")
    knobs = dict(params or {})
    k = check_top_k(knobs.pop("top_k", 4))
    said = {name: _written(name, value) for name, value in knobs.items()}
    if setup is None:
        filters = " and its filter `where`" if said.get("where") == "where" else ""
        setup = f"# Needs `{source}`, the search that was tuned{filters}."
    lines = "".join(f"\n        {name!r}: {value}," for name, value in said.items())
    knob_lines = f"{lines}\n    " if lines else ""
    return _PROGRAM.format(setup=setup.rstrip(), source=source, k=k, knobs=knob_lines, query=query)


def _written(name: str, value: Any) -> str:
    """Write a knob as Python; what has no literal must be named in the setup."""
    if name == "where" and value is not None and not isinstance(value, Mapping):
        return "where"
    plain = dict(value) if isinstance(value, Mapping) else value
    try:
        same = ast.literal_eval(repr(plain)) == plain
    except (ValueError, SyntaxError):
        same = False
    if same is not True:
        raise ValueError(f"knob {name!r} cannot be written as Python; got {value!r}. Set it in the program.")
    return repr(plain)
