"""Embedding over HTTP, as OpenAI's API does it and many servers after it."""

from __future__ import annotations

import base64
import json
import os
import time
from functools import cache
from typing import Any

import numpy as np

from ragkit.embedding.batches import BatchEmbedder
from ragkit.frames import check_number, check_top_k


class HTTPEmbedder(BatchEmbedder):
    """Embed with any server that answers ``POST <url>/embeddings`` as OpenAI's does.

    Ollama, vLLM, llama.cpp, text-embeddings-inference and LM Studio do. Busy and failing servers (429,
    5xx, no connection) are asked again after a pause that doubles; other errors are raised in the
    server's words.

    Parameters
    ----------
    url : str
        Where the API begins: ``"http://localhost:11434/v1"``.
    model : str
        The model's name, as the server knows it.
    key_env : str, default="OPENAI_API_KEY"
        The environment variable that holds the key. It is read at each call and kept nowhere; where it is
        not set, none is sent.
    prefix, query_prefix : str, default=""
        Put before each document and before each query.
    dimensions : int, optional
        Asks the server for shorter vectors, where the model can.
    batch_size : int, default=64
        Texts sent at a time.
    retries : int, default=4
        How often a batch is tried again.
    pause : float, default=0.5
        Seconds before the first new attempt.
    timeout : float, default=60
        Seconds that one answer may take.
    progress : bool, default=True
        Whether long work shows a bar.

    Raises
    ------
    RuntimeError
        When it is called, if the server refuses, or does not answer in time however often it is asked.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key_env: str = "OPENAI_API_KEY",
        prefix: str = "",
        query_prefix: str = "",
        dimensions: int | None = None,
        batch_size: int = 64,
        retries: int = 4,
        pause: float = 0.5,
        timeout: float = 60,
        progress: bool = True,
    ):
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise ValueError(f"url must begin with http:// or https://; got {url!r}.")
        self.url, self.model, self.key_env, self.dimensions = url.rstrip("/"), model, key_env, dimensions
        super().__init__(batch_size, progress, prefix, query_prefix)
        self.retries = check_top_k(retries, "retries", none=False) or 0
        self.pause, self.timeout = (
            check_number("pause", pause, low=0),
            check_number("timeout", timeout, low=0),
        )

    def __repr__(self) -> str:
        return f"HTTPEmbedder({self.url!r}, {self.model!r})"

    @property
    def name(self) -> str:
        """What tells its vectors from those of another."""
        return f"{self.model} at {self.url}, dimensions={self.dimensions}"

    def _embed(self, texts: list[str]) -> np.ndarray:
        body: dict[str, Any] = {"model": self.model, "input": texts}
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
        answer = self._post(json.dumps(body).encode())
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            if [row["index"] for row in rows] != list(range(len(texts))):
                raise ValueError(f"{len(rows)} vectors for {len(texts)} texts")
            return np.array([_vector(row["embedding"]) for row in rows], dtype=np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise RuntimeError(
                f"{self.url} did not answer as an embeddings server does: {error!r}."
            ) from None

    def _post(self, body: bytes) -> Any:
        """Send a batch, again if the server is busy, and read the answer."""
        import urllib.error

        pause = self.pause
        for left in range(self.retries, -1, -1):
            try:
                return self._once(body)
            except urllib.error.HTTPError as error:
                words = error.read(500).decode("utf-8", "replace").strip()
                if left == 0 or not (error.code == 429 or error.code >= 500):
                    hint = f" Is {self.key_env} set?" if error.code in (401, 403) else ""
                    raise RuntimeError(f"{self.url} refused with {error.code}: {words}.{hint}") from None
                asked = error.headers.get("Retry-After", "")
                wait = float(asked) if asked.isdigit() else pause
            except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
                if left == 0:
                    raise RuntimeError(
                        f"{self.url} does not answer ({error}); is the server running, and the address right?"
                    ) from None
                wait = pause
            time.sleep(min(wait, 60))
            pause *= 2

    def _once(self, body: bytes) -> Any:
        import urllib.request  # it costs more than all of ragkit's embedders

        headers = {"Content-Type": "application/json"}
        key = os.environ.get(self.key_env, "")
        if key:
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(f"{self.url}/embeddings", data=body, headers=headers, method="POST")
        with _opener().open(request, timeout=self.timeout) as response:
            try:
                return json.load(response)
            except ValueError:
                raise RuntimeError(f"{self.url} answered with something that is no JSON.") from None


@cache
def _opener() -> Any:
    """Make an opener that follows no redirect: one would carry the key to another host."""
    import urllib.request

    class NoRedirect(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *args: Any) -> None:
            return None

    return urllib.request.build_opener(NoRedirect)


def _vector(embedding: Any) -> np.ndarray:
    """Read a vector: a list of numbers, or base64 of little-endian float32."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    return np.asarray(embedding, dtype=np.float32)
