"""From a string to words."""

from __future__ import annotations

import dataclasses
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit import Tokenizer
from ragkit.text import STOP_WORDS
from tests.conftest import golden

# --- worked examples -----------------------------------------------------------------------------------


def test_the_defaults_fold_case_keep_one_letter_words_and_drop_lucenes_33():
    assert Tokenizer()("The C of Straße is in A4, not B") == ["c", "strasse", "a4", "b"]
    assert len(Tokenizer().dropped) == 33


def test_punctuation_is_stripped_and_one_character_words_stay():
    assert Tokenizer()("Check the (valve). Vitamin C; room 7!") == [
        "check",
        "valve",
        "vitamin",
        "c",
        "room",
        "7",
    ]


def test_compatibility_forms_meet():
    full_width, plain, decomposed = "ＢＭ２５ ﬁsh", "BM25 fish", "cafe\u0301"
    assert Tokenizer()(full_width) == Tokenizer()(plain)
    assert Tokenizer()(decomposed) == Tokenizer()("café") == ["café"]


def test_words_of_scripts_with_vowel_signs_are_whole():
    assert Tokenizer()("हिन्दी में") == ["हिन्दी", "में"]
    assert Tokenizer()("العَرَبِيَّة лес ძაღლი") == ["العَرَبِيَّة", "лес", "ძაღლი"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("駅前の本屋は休み", "本屋"),
        ("ﾊﾝｶｸｶﾅ", "カナ"),  # half-width kana meets full-width
        ("㐀㐁㐂", "㐁"),  # ideographs of extension A
        ("한국어를배우다", "한국"),
        ("ภาษาไทยง่าย", "ไทย"),
    ],
)
def test_scripts_without_blanks_are_found_by_a_part_of_the_run(text, query):
    assert set(Tokenizer()(query)) <= set(Tokenizer()(text))


def test_scripts_without_blanks_give_characters_and_pairs():
    assert Tokenizer()("本屋x休") == ["本", "本屋", "屋", "x", "休"]
    assert Tokenizer(min_length=2)("雨の日") == ["雨の", "の日"]


def test_stop_words_can_be_named_listed_extended_and_kept():
    text = "to be or not to be fox"
    assert Tokenizer(stop_words=None)(text) == text.split()
    assert Tokenizer(stop_words=["fox", "TO"])(text) == ["be", "or", "not", "be"]
    assert Tokenizer(keep_words=["not"], extra_stop_words=["Fox"])(text) == ["not"]


def test_a_stemmer_is_any_callable_and_serves_both_sides():
    tokenizer = Tokenizer(stem=lambda word: word.removesuffix("s"))
    assert tokenizer("foxes this") == ["foxe"]
    assert tokenizer("Cats") == tokenizer("cat")


def test_a_pattern_says_what_a_word_is():
    assert Tokenizer(pattern=r"[^\s]+", stop_words=None)("C++ v1.2.3") == ["c++", "v1.2.3"]


def test_explain_names_the_reason_of_every_drop():
    frame = Tokenizer(min_length=3, stem=str.upper).explain("The tea of Li")
    assert frame.values.tolist() == [
        ["the", "THE", False, "stop word"],
        ["tea", "TEA", True, ""],
        ["of", "OF", False, "stop word"],
        ["li", "LI", False, "shorter than 3 characters"],
    ]
    assert Tokenizer().explain("?!").columns.tolist() == ["word", "token", "kept", "reason"]


def test_a_tokenizer_is_a_frozen_value():
    tokenizer = Tokenizer(extra_stop_words=["x"])
    assert tokenizer == Tokenizer(extra_stop_words=("x",))
    assert hash(Tokenizer()) == hash(Tokenizer())
    with pytest.raises(dataclasses.FrozenInstanceError):
        tokenizer.min_length = 3


# --- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["__call__", "words", "normalize", "explain", "spans"])
@pytest.mark.parametrize("value", [["red", "fox"], None, b"fox", 3])
def test_what_is_no_string_is_refused_by_every_method(method, value):
    with pytest.raises(TypeError, match=f"a tokenizer cuts a str; got .* of type {type(value).__name__}."):
        getattr(Tokenizer(), method)(value)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"stop_words": "englsh"}, ValueError, "Did you mean 'english'"),
        ({"extra_stop_words": "the"}, TypeError, r"Write \['the'\]"),
        ({"stop_words": [1]}, TypeError, "list of strings"),
        ({"min_length": -1}, ValueError, "min_length must be"),
        ({"min_length": 1.5}, ValueError, "min_length must be"),
        ({"stem": "english"}, TypeError, "stem must be a callable"),
        ({"pattern": "("}, ValueError, "pattern must be a regular expression"),
        ({"normal_form": "NFX"}, ValueError, "normal_form"),
        ({"case": "upper"}, ValueError, "case"),
    ],
)
def test_bad_options_say_what_is_needed(options, error, message):
    with pytest.raises(error, match=message):
        Tokenizer(**options)


# --- properties ---------------------------------------------------------------------------------------------

texts = st.text() | st.text(alphabet="aé ßᾳ_1-.'本の한ไ\u0301\u200d😀İK")


@given(texts)
def test_tokens_are_stable_under_a_second_pass(text):
    tokenizer = Tokenizer(stop_words=None, pattern=r"\w+")
    tokens = tokenizer(text)
    assert [t for token in tokens for t in tokenizer(token)] == tokens


@given(texts)
def test_every_letter_and_digit_is_in_some_word(text):
    tokenizer = Tokenizer(stop_words=None)
    joined = "".join(tokenizer(text))
    for char in tokenizer.normalize(text):
        assert not char.isalnum() or char in joined


@given(texts)
def test_spans_are_slices_that_give_the_same_words_as_the_whole(text):
    tokenizer = Tokenizer()
    spans = tokenizer.spans(text)
    assert all(0 <= start < end <= len(text) for start, end, _ in spans)
    if unicodedata.is_normalized("NFKC", text) and text.casefold() == text:
        assert [t for _, _, tokens in spans for t in tokens] == tokenizer(text)


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_ascii_text_equals_the_plain_regular_expression(text):
    assert Tokenizer(stop_words=None)(text) == re.findall(r"\w+", text.lower())


@given(texts)
def test_explain_keeps_what_the_call_returns(text):
    tokenizer = Tokenizer(min_length=2)
    frame = tokenizer.explain(text)
    assert frame.loc[frame["kept"], "token"].tolist() == tokenizer(text)


# --- recorded from the AgentDB keyword index ---------------------------------------------------------------


def test_the_ascii_stop_words_are_the_recorded_132():
    assert sorted(STOP_WORDS["english-132"]) == golden("keyword_tokenize")[0]["output"]


@pytest.mark.parametrize("case", golden("keyword_tokenize")[1:], ids=lambda case: case["name"])
def test_ascii_equals_the_recorded_tokens(case):
    extra = case["input"].get("customStopwords") or ()
    text = case["input"]["text"]
    assert Tokenizer.ascii(extra)(text if isinstance(text, str) else "") == case["output"]
