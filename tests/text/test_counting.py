"""Counting: the fast road equals the plain one, whatever the text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit import Tokenizer
from ragkit.text.counting import assemble, count_fast, count_plain, count_words, fast

TOKENIZERS = {
    "default": Tokenizer(),
    "all words": Tokenizer(stop_words=None, min_length=2),
    "ascii": Tokenizer.ascii(extra_stop_words=["red"]),
    "stemmed": Tokenizer(stem=lambda word: word[:3]),
    "lower": Tokenizer(normal_form=None, case="lower"),
    "decomposed": Tokenizer(case=None, normal_form="NFD", keep_words=["the"]),
}

# Letters that fold, compose, join or split; words around eight bytes, where keys turn into hashes.
CHARACTERS = st.one_of(
    st.sampled_from("abcABC .,\n\0\x01_09éßΣσςİıﬁ½Å\u0301\u0308日本語한ㄱกำไทยກຂកខမဂ𠀀👩\u200d\u2028\ud800"),
    st.characters(),
)
TEXT = st.one_of(
    st.text(CHARACTERS, max_size=40),
    st.lists(st.text(st.sampled_from("abé"), min_size=6, max_size=20), max_size=6).map(" ".join),
)


def tables(counts, n_terms):
    return [part.tolist() for part in assemble(counts.blocks, n_terms)]


def assert_same_counts(texts, tokenizer):
    plain_vocab, fast_vocab = {}, {}
    plain = count_plain(texts, tokenizer, plain_vocab)
    fast = count_fast(texts, tokenizer, fast_vocab)
    assert list(plain_vocab.items()) == list(fast_vocab.items())
    assert plain.lengths.tolist() == fast.lengths.tolist()
    assert tables(plain, len(plain_vocab)) == tables(fast, len(fast_vocab))


def test_counts_by_hand():
    vocab = {}
    counts = count_words(["red fox, red", "", "the fox"], Tokenizer(), vocab)
    assert vocab == {"red": 0, "fox": 1}
    assert counts.lengths.tolist() == [3, 0, 1]
    assert tables(counts, 2) == [[0, 1, 3], [0, 0, 2], [2, 1, 1]]


def test_words_that_are_known_keep_their_numbers():
    vocab = {"fox": 0, "gone": 1}
    counts = count_words(["red fox"], Tokenizer(), vocab)
    assert vocab == {"fox": 0, "gone": 1, "red": 2}
    assert tables(counts, 3) == [[0, 1, 1, 2], [0, 0], [1, 1]]


def test_a_word_that_stands_more_often_than_a_byte_holds():
    for times in (255, 256, 70_000):
        vocab = {}
        counts = count_words(["a fox " * times], Tokenizer(), vocab)
        assert tables(counts, 1)[2] == [times]


@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["...", " \n"]], ids=repr)
def test_no_words_at_all(texts):
    for tokenizer in (Tokenizer(), str.split):
        vocab = {}
        counts = count_words(texts, tokenizer, vocab)
        assert counts.lengths.tolist() == [len(str.split(t)) if tokenizer is str.split else 0 for t in texts]
        assert len(assemble(counts.blocks, len(vocab))[0]) == len(vocab) + 1


@pytest.mark.parametrize("name", TOKENIZERS)
@given(texts=st.lists(TEXT, max_size=6))
def test_the_fast_road_equals_the_plain_one(name, texts):
    assert_same_counts(texts, TOKENIZERS[name])


@pytest.mark.parametrize(("block", "group"), [(1, 1), (40, 100)])
@given(texts=st.lists(TEXT, max_size=8))
def test_where_blocks_end_makes_no_difference(block, group, texts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast, "_BLOCK", block)
        patch.setattr(fast, "_GROUP", group)
        for tokenizer in TOKENIZERS.values():
            assert_same_counts(texts, tokenizer)


@pytest.mark.parametrize(("block", "group"), [(1 << 21, 1 << 26), (1, 1 << 26), (1, 1)])
def test_words_of_one_hash_are_told_apart(monkeypatch, block, group):
    monkeypatch.setattr(fast, "_mix", lambda x: x & np.uint64(0xFF))  # every hash is one byte
    monkeypatch.setattr(fast, "_BLOCK", block)
    monkeypatch.setattr(fast, "_GROUP", group)
    texts = ["incomparable incontrovertible", "incorrigible fox", "incomparable fox incontestable"]
    assert_same_counts(texts, Tokenizer())


A = "a" * 8
TWINS = [("b" + A, A + "a"), (A + "a", A + "b"), (A + "a", A + "aa"), (A * 2 + "a", A * 2 + "b")]
TWINS += [(A * 3 + "a", A * 3 + "b"), (A * 2 + "a", A * 2 + "aa"), (A * 2, A * 2 + "a")]


@pytest.mark.parametrize("block", [1 << 21, 1])
@pytest.mark.parametrize(("first", "second"), [*TWINS, *(twins[::-1] for twins in TWINS)])
def test_words_of_one_hash_are_told_apart_by_any_letter_and_by_length(monkeypatch, first, second, block):
    monkeypatch.setattr(fast, "_mix", lambda x: x & np.uint64(0))
    monkeypatch.setattr(fast, "_BLOCK", block)
    assert_same_counts([f"{first} {first}", f"{first} {second}"], Tokenizer())


@pytest.mark.parametrize("case", ["fold", "lower", None])
def test_case_is_levelled_in_ascii_blocks_as_in_others(case):
    tokenizer = Tokenizer(case=case)
    for texts in (["Red FOX_9", "red fox\0Red"], ["Red FOX_9", "red fox\0Red Z\u00fcrich"]):
        assert_same_counts(texts, tokenizer)


class Whispering(Tokenizer):
    def normalize(self, text):
        return super().normalize(text).replace("loud", "quiet")

    def words(self, text):
        return [word for word in super().words(text) if word != "noise"]


def test_what_a_subclass_of_the_tokenizer_changes_counts():
    vocab = {}
    count_words(["a loud fox, noise", "LOUD Z\u00fcrich"], Whispering(), vocab)
    assert list(vocab) == ["quiet", "fox", "z\u00fcrich"]


def test_a_callable_that_gives_no_words_is_refused():
    with pytest.raises(TypeError, match="list of words"):
        count_words(["a"], lambda text: iter(text), {})
    with pytest.raises(TypeError, match="list of str"):
        count_words(["a"], lambda text: [1], {})
