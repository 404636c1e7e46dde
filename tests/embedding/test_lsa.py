"""LSAEmbedder and HashingEmbedder: by hand, as laws, against scikit-learn."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import ragkit as rk
from ragkit.embedding import HashingEmbedder, LSAEmbedder

TEXTS = ["cat and dog", "dog and wolf and dog", "ship and sea", "sea and harbour", "the of"]


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)


def random_texts(n, seed=0):
    rng = np.random.default_rng(seed)
    words = np.array([f"w{k}" for k in range(400)])
    return [" ".join(words[np.minimum(rng.geometric(0.02, 30), 400) - 1]) for _ in range(n)]


# ---------------------------------------------------------------- worked examples


def test_two_subjects_give_two_dimensions():
    # {cat, dog, wolf} and {ship, sea, harbour} share no document, so cosines within are 1 and across 0.
    rows = LSAEmbedder(2).fit(TEXTS[:4])(["cat", "wolf", "ship", "harbour"])
    cosines = unit(rows) @ unit(rows).T
    assert cosines == pytest.approx(
        np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]), abs=1e-6
    )


def test_texts_without_known_words_are_zeros():
    embed = LSAEmbedder().fit(TEXTS)
    rows = embed(["", "submarine", "the"])
    assert rows.shape == (3, 4) and rows.dtype == np.float32 and not rows.any()
    assert embed([]).shape == (0, 4)


@pytest.mark.parametrize("texts", [[], [""], ["the of", "..."]])
def test_nothing_to_learn_from_gives_zeros(texts):
    assert not LSAEmbedder().fit(texts)(["fox"]).any()
    assert len(rk.VectorStore(texts).search("")) == 0


def test_an_embedder_that_is_not_fitted_says_so():
    with pytest.raises(ValueError, match="must be fitted"):
        LSAEmbedder()(["x"])
    with pytest.raises(ValueError, match="must be fitted"):
        LSAEmbedder().words_between("x", "y")
    for wrong in (0, -1, 2.5):
        with pytest.raises(ValueError, match="n_components"):
            LSAEmbedder(wrong)
    assert repr(LSAEmbedder(3)) == "LSAEmbedder(3, not fitted)"


# ---------------------------------------------------------------- laws


@pytest.mark.parametrize("n", [30, 900])
def test_the_same_texts_give_the_same_vectors(n):
    texts = random_texts(n)
    first, second = (LSAEmbedder(16).fit(texts)(texts) for _ in range(2))
    assert np.array_equal(first, second)


def test_as_many_dimensions_as_documents_keep_every_cosine():
    # With all dimensions, LSA of the documents is TF-IDF itself.
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = random_texts(40)
    rows = LSAEmbedder(100).fit(texts)(texts)
    tfidf = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\S+").fit_transform(texts)
    assert rows.shape[1] == 40
    assert unit(rows) @ unit(rows).T == pytest.approx((tfidf @ tfidf.T).toarray(), abs=1e-5)


def test_word_contributions_sum_to_the_dot_product():
    embed = LSAEmbedder(8).fit(random_texts(60))
    query, text = random_texts(60)[3], random_texts(60)[7]
    words = embed.words_between(query, text)
    q, x = embed([query, text]).astype(float)
    assert words["value"].sum() == pytest.approx(q @ x, rel=1e-5)
    assert (words["value"].abs().diff().dropna() <= 0).all()
    assert set(words["word"]) == set(text.split())


def test_hashed_vectors_have_length_1_and_cosines_of_shared_words():
    embed = HashingEmbedder(4096)
    rows = embed(["red fox", "fox red red", "whale", ""])
    assert np.linalg.norm(rows, axis=1).tolist() == pytest.approx([1, 1, 1, 0])
    # (1, 1) and (1, 1 + ln 2) over the lengths
    a = 1 + np.log(2)
    assert rows[0] @ rows[1] == pytest.approx((1 + a) / np.sqrt(2 * (1 + a * a)), rel=1e-6)
    assert rows[0] @ rows[2] == 0


def test_hashes_are_the_same_in_every_process():
    where = "HashingEmbedder(50)(['red fox'])[0].nonzero()[0].tolist()"
    code = f"from ragkit.embedding import HashingEmbedder; print({where})"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert seen == {f"{HashingEmbedder(50)(['red fox'])[0].nonzero()[0].tolist()}\n"}


# ---------------------------------------------------------------- parity


def test_cosines_equal_scikit_learns_truncated_svd():
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    rng = np.random.default_rng(5)  # documents on twelve subjects, so that twelve dimensions stand out
    texts = [" ".join(f"s{k}w{w}" for w in rng.integers(0, 30, 20)) for k in rng.integers(0, 12, 600)]
    ours = LSAEmbedder(12).fit(texts)
    tfidf = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\S+")
    table = tfidf.fit_transform(texts)
    svd = TruncatedSVD(12, algorithm="arpack", random_state=0).fit(table)
    queries = ["s3w1 s3w2 s4w1", "s7w7", "s0w1 s11w4 s5w2"]
    theirs = unit(svd.transform(tfidf.transform(queries))) @ unit(svd.transform(table)).T
    mine = unit(ours(queries)) @ unit(ours(texts)).T
    assert mine == pytest.approx(theirs, abs=1e-3)  # the randomised SVD is close, not equal
