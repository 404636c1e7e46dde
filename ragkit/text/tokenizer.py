"""From a string to words: one function for documents and queries alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from ragkit.frames import check_choice, check_top_k
from ragkit.text.stop_words import STOP_WORDS

# Scripts written without blanks between words: their runs become single characters and neighbouring pairs.
_UNSPACED = re.compile(
    r"["
    r"\u0e00-\u0eff"  # Thai, Lao
    r"\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    r"\u1100-\u11ff\u3130-\u318f\uac00-\ud7ff"  # Hangul
    r"\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # Japanese kana and iteration marks
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han ideographs
    r"]+"
)


class _WordTable(dict):
    """A `str.translate` table that keeps letters, marks, digits and ``_`` and blanks out the rest.

    It fills itself, one entry per distinct character met. ``\\w`` alone would cut words at combining
    marks, and with them most words of Hindi or Arabic with vowel signs.
    """

    def __missing__(self, code: int) -> int:
        self[code] = code if is_word_character(chr(code)) else 32
        return self[code]


def is_word_character(char: str) -> bool:
    """Say whether a character belongs to words: a letter, a mark, a digit or ``_``."""
    return char.isalnum() or char == "_" or unicodedata.category(char)[0] == "M"


_WORDS = _WordTable()
_ASCII = bytes(range(128)).decode().translate(_WORDS).encode() + bytes(128)  # the same, as `bytes` take it


@dataclass(frozen=True)
class Tokenizer:
    """Cut text into words; the same function serves documents and queries.

    The steps are: normal form (NFKC), case folding, words, stemming, then the words that are too short or
    on the stop list are dropped. Words are runs of letters, marks, digits and underscores of any script.
    Scripts written without blanks (Han, kana, Hangul, Thai, Lao, Khmer, Myanmar) give their single
    characters and each neighbouring pair.

    Parameters
    ----------
    stop_words : None, str or iterable of str, default="english"
        Words to drop: None for none, a name (``"english"``: Lucene's 33, ``"english-132"``), or a list.
    extra_stop_words : iterable of str, default=()
        Dropped as well.
    keep_words : iterable of str, default=()
        Never dropped as stop words, whatever list they stand on.
    min_length : int, default=1
        Shorter words are dropped, counted in characters.
    stem : callable or None, default=None
        ``str -> str``, applied to each word before the stop list is looked up on the unstemmed word:
        for example ``snowballstemmer.stemmer("english").stemWord``.
    pattern : str or None, default=None
        A regular expression that matches one word; None for the words described above.
    normal_form : {"NFKC", "NFC", "NFD", "NFKD", None}, default="NFKC"
        Unicode normal form taken first, so that full-width and composed letters meet.
    case : {"fold", "lower", None}, default="fold"
        How case is levelled; ``"fold"`` also maps ``ß`` to ``ss``.

    See Also
    --------
    Tokenizer.ascii : The tokenizer of the AgentDB keyword index.

    Examples
    --------
    >>> Tokenizer()("The Foxes of Zürich, 3 of them")
    ['foxes', 'zürich', '3', 'them']
    >>> Tokenizer(stop_words=None, min_length=2)("To be, or not 2 be")
    ['to', 'be', 'or', 'not', 'be']
    >>> Tokenizer()("本屋")
    ['本', '本屋', '屋']
    """

    stop_words: str | frozenset[str] | Iterable[str] | None = field(default="english", kw_only=True)
    extra_stop_words: frozenset[str] | Iterable[str] = field(default=(), kw_only=True)
    keep_words: frozenset[str] | Iterable[str] = field(default=(), kw_only=True)
    min_length: int = field(default=1, kw_only=True)
    stem: Callable[[str], str] | None = field(default=None, kw_only=True)
    pattern: str | None = field(default=None, kw_only=True)
    normal_form: str | None = field(default="NFKC", kw_only=True)
    case: str | None = field(default="fold", kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.stop_words, str):
            check_choice("stop_words", self.stop_words, STOP_WORDS)
        elif self.stop_words is not None:
            object.__setattr__(self, "stop_words", _words(self.stop_words, "stop_words"))
        for name in ("extra_stop_words", "keep_words"):
            object.__setattr__(self, name, _words(getattr(self, name), name))
        object.__setattr__(self, "min_length", check_top_k(self.min_length, "min_length", none=False))
        if self.normal_form is not None:
            check_choice("normal_form", self.normal_form, ["NFKC", "NFC", "NFD", "NFKD"])
        if self.case is not None:
            check_choice("case", self.case, ["fold", "lower"])
        if self.stem is not None and not callable(self.stem):
            raise TypeError(f"stem must be a callable str -> str or None; got {self.stem!r}.")
        if self.pattern is not None:
            try:
                re.compile(self.pattern)
            except (re.error, TypeError) as error:
                raise ValueError(
                    f"pattern must be a regular expression; got {self.pattern!r}: {error}."
                ) from None

    @classmethod
    def ascii(cls, extra_stop_words: Iterable[str] = ()) -> Tokenizer:
        """Make the tokenizer of the AgentDB keyword index: lower case, ``[a-z0-9]+``, two characters or more.

        Parameters
        ----------
        extra_stop_words : iterable of str, default=()
            Dropped as well as its 132 stop words.

        Returns
        -------
        Tokenizer
            ASCII words only: accents and other scripts cut words or vanish.

        Examples
        --------
        >>> Tokenizer.ascii()("Don't visit the café in 3.11")
        ['don', 'visit', 'caf', '11']
        """
        return cls(
            stop_words="english-132",
            extra_stop_words=extra_stop_words,
            min_length=2,
            pattern="[a-z0-9]+",
            normal_form=None,
            case="lower",
        )

    def __call__(self, text: str) -> list[str]:
        """Cut `text` into the words that count.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        list of str
            Words in order, repeated as often as they stand.
        """
        words = self.words(text)
        drop, shortest = self.dropped, self.min_length
        if self.stem is None:
            return [w for w in words if w not in drop and len(w) >= shortest]
        stem = self.stem
        return [s for w in words if w not in drop and len(s := stem(w)) >= shortest]

    @cached_property
    def dropped(self) -> frozenset[str]:
        """The stop words in force: list and extra ones, less those to keep."""
        named = (
            STOP_WORDS[self.stop_words]
            if isinstance(self.stop_words, str)
            else self.stop_words or frozenset()
        )
        return (frozenset(named) | frozenset(self.extra_stop_words)) - frozenset(self.keep_words)

    def normalize(self, text: str) -> str:
        """Level normal form and case.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        str
            The levelled text.
        """
        _check_text(text)
        if self.normal_form is not None and not text.isascii():
            text = unicodedata.normalize(self.normal_form, text)  # type: ignore[arg-type]
        if self.case == "fold":
            text = text.casefold()
            if self.normal_form is not None and not text.isascii():  # folding can leave the normal form
                text = unicodedata.normalize(self.normal_form, text)  # type: ignore[arg-type]
        elif self.case == "lower":
            text = text.lower()
        return text

    def words(self, text: str) -> list[str]:
        """Cut `text` into all its words, before stemming and before any is dropped.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        list of str
            Words in order.
        """
        text = self.normalize(text)
        if self.pattern is not None:
            return [m.group() for m in re.finditer(self.pattern, text)]
        if text.isascii():
            return text.encode().translate(_ASCII).decode().split()
        return [part for word in text.translate(_WORDS).split() for part in split_unspaced(word)]

    def explain(self, text: str) -> pd.DataFrame:
        """Show what becomes of each word of a text, and why.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        DataFrame
            One row per word: ``word, token, kept, reason`` in order; `token` is the stemmed word and
            `reason` says why a word was dropped.

        Examples
        --------
        >>> Tokenizer(min_length=2).explain("The fox & I")
          word token   kept                   reason
        0  the   the  False                stop word
        1  fox   fox   True
        2    i     i  False  shorter than 2 characters
        """
        words = self.words(text)
        tokens = [self.stem(w) if self.stem else w for w in words]
        reasons = [
            "stop word"
            if w in self.dropped
            else f"shorter than {self.min_length} characters"
            if len(t) < self.min_length
            else ""
            for w, t in zip(words, tokens)
        ]
        return pd.DataFrame(
            {
                "word": pd.Series(words, dtype="str"),
                "token": pd.Series(tokens, dtype="str"),
                "kept": pd.Series([not reason for reason in reasons], dtype=bool),
                "reason": pd.Series(reasons, dtype="str"),
            }
        )

    def spans(self, text: str) -> list[tuple[int, int, list[str]]]:
        """Find the words in the text as it stands: where each is, and which tokens it gives.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        list of (start, end, tokens)
            ``text[start:end]`` is the word; `tokens` is empty where it is dropped.

        Examples
        --------
        >>> Tokenizer().spans("Red, the FOX")
        [(0, 3, ['red']), (5, 8, []), (9, 12, ['fox'])]
        """
        _check_text(text)
        return [(m.start(), m.end(), self(m.group())) for m in re.finditer(r"\S+", text.translate(_WORDS))]


def _check_text(text: str) -> None:
    if not isinstance(text, str):
        raise TypeError(f"a tokenizer cuts a str; got {text!r} of type {type(text).__name__}.")


def has_unspaced(word: str) -> bool:
    """Say whether a word holds a script that is written without blanks."""
    return not word.isascii() and _UNSPACED.search(word) is not None


def split_unspaced(word: str) -> list[str]:
    """Cut the runs of unspaced scripts in a word into characters and neighbouring pairs."""
    if not has_unspaced(word):
        return [word]
    parts: list[str] = []
    at = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > at:
            parts.append(word[at : run.start()])
        chars = _characters(run.group())
        for first, second in zip(chars, [*chars[1:], ""]):
            parts.append(first)
            if second:
                parts.append(first + second)
        at = run.end()
    if at < len(word):
        parts.append(word[at:])
    return parts


def _characters(run: str) -> list[str]:
    """Cut into characters, each with the combining marks that follow it."""
    chars: list[str] = []
    for char in run:
        if chars and unicodedata.category(char)[0] == "M":
            chars[-1] += char
        else:
            chars.append(char)
    return chars


def _words(value: Iterable[str], name: str) -> frozenset[str]:
    if isinstance(value, str):
        raise TypeError(f"{name} must be a list of words; got the string {value!r}. Write [{value!r}].")
    words = frozenset(value)
    if not all(isinstance(word, str) for word in words):
        raise TypeError(f"{name} must be a list of strings; got {sorted(map(repr, words))[:3]}.")
    return frozenset(word.casefold() for word in words)
