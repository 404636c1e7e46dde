"""Jupyter servers on loopback: started for a test session, ended with all their kernels."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent
JUPYTER = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "MPLCONFIGDIR")


class Server:
    """A running server: its address, and the folder that its notebooks live in."""

    def __init__(self, url, root):
        self.url = url
        self.root = root

    def write(self, name, *cells):
        """Write a notebook of code cells."""
        import nbformat

        v4 = nbformat.v4
        notebook = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in cells])
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook.metadata["kernelspec"] = kernel
        nbformat.write(notebook, self.root / name)
        return name


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def jupyter_env(folder):
    """Settings, data and kernels of a test stay in its own folder; the package is the one at hand."""
    names = {name: folder / name.lower() for name in JUPYTER}
    for path in names.values():
        path.mkdir(parents=True, exist_ok=True)
    lab = names["JUPYTER_CONFIG_DIR"] / "labconfig"
    lab.mkdir(exist_ok=True)
    quiet = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    (lab / "page_config.json").write_text(json.dumps(quiet))
    # Cells out of view are otherwise taken out of the page, and their panels with them.
    whole = {"@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"}}
    (lab / "default_setting_overrides.json").write_text(json.dumps(whole))
    root = str(HERE.parents[1])
    path = os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH", "")) if p)
    return os.environ | {name: str(path) for name, path in names.items()} | {"PYTHONPATH": path}


def lab_command(port, root):
    """The command that starts JupyterLab on loopback, without a token prompt."""
    return [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1",
        f"--port={port}", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={root}",
        "--IdentityProvider.token=", "--ServerApp.disable_check_xsrf=True",
        "--LabApp.expose_app_in_browser=True",
    ]  # fmt: skip


def notebook_command(port, root):
    """The command that starts Notebook 7."""
    return [
        sys.executable, "-m", "notebook", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}",
        "--ServerApp.port_retries=0", f"--ServerApp.root_dir={root}", "--IdentityProvider.token=",
        "--ServerApp.disable_check_xsrf=True", "--JupyterNotebookApp.expose_app_in_browser=True",
    ]  # fmt: skip


def voila_command(port, root):
    """The command that starts Voila over a folder of notebooks."""
    return [
        sys.executable, "-m", "voila", str(root), "--no-browser", "--Voila.ip=127.0.0.1", f"--port={port}",
        f"--Voila.connection_dir_root={root}",
    ]  # fmt: skip


def app_command(port, documents):
    """The command that serves the app over a folder of documents."""
    return [sys.executable, "-m", "ragkit", str(documents), "--no-browser", f"--port={port}"]


@contextlib.contextmanager
def running(command, folder, *, root=None, answers="/api"):
    """Start a server in `folder`, wait until it answers, and end it with all its kernels.

    `command` takes a port and the folder of notebooks, which is `root` or a new one.
    """
    port = free_port()
    if root is None:
        root = folder / "notebooks"
        root.mkdir()
    server = Server(f"http://127.0.0.1:{port}", root)
    log = folder / "server.log"
    with open(log, "wb") as out:
        process = subprocess.Popen(
            command(port, root), env=jupyter_env(folder), stdout=out, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            _wait_until_it_answers(process, server.url + answers, log)
            yield server
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _wait_until_it_answers(process, url, log, seconds=60):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except urllib.error.HTTPError:
            return  # "not found" is an answer too
        except OSError:
            pass
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(f"{process.args[2]} did not answer: {Path(log).read_text()[-2000:]}")
