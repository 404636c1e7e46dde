"""WordPiece, the tokenizer of BERT and its small descendants, in plain Python."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path


class WordPiece:
    """Cut text into the numbered pieces of a BERT vocabulary.

    Parameters
    ----------
    vocab : dict of str to int
        Pieces and their numbers; pieces inside a word begin with ``##``.
    lowercase : bool, default=True
        Whether text is lower-cased and stripped of accents first.

    References
    ----------
    .. [1] Wu et al. Google's neural machine translation system. 2016.

    Examples
    --------
    >>> pieces = WordPiece({"[CLS]": 0, "[SEP]": 1, "[UNK]": 2, "fox": 3, "##es": 4})
    >>> pieces.encode("Foxes, fox", 8)
    [0, 3, 4, 2, 3, 1]
    """

    def __init__(self, vocab: dict[str, int], *, lowercase: bool = True):
        missing = [piece for piece in ("[CLS]", "[SEP]", "[UNK]") if piece not in vocab]
        if missing:
            raise ValueError(f"vocab must hold [CLS], [SEP] and [UNK], as BERT's do; missing {missing}.")
        self.vocab, self.lowercase = vocab, lowercase

    @classmethod
    def from_folder(cls, folder: Path) -> WordPiece:
        """Read ``tokenizer.json`` or ``vocab.txt``.

        Parameters
        ----------
        folder : Path
            Where one of them is.

        Returns
        -------
        WordPiece
            The tokenizer.
        """
        if (folder / "tokenizer.json").is_file():
            data = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
            if data.get("model", {}).get("type", "WordPiece") != "WordPiece":
                raise ValueError(f"tokenizer.json must be of type WordPiece; got {data['model']['type']!r}.")
            lowercase = (data.get("normalizer") or {}).get("lowercase", True)
            return cls(data["model"]["vocab"], lowercase=bool(lowercase))
        if (folder / "vocab.txt").is_file():
            lines = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
            return cls({piece.rstrip("\r"): n for n, piece in enumerate(lines) if piece.strip("\r")})
        raise FileNotFoundError(f"{str(folder)!r} holds neither tokenizer.json nor vocab.txt.")

    def encode(self, text: str, max_length: int) -> list[int]:
        """Give the numbers of a text's pieces, between [CLS] and [SEP].

        Parameters
        ----------
        text : str
            Any text.
        max_length : int
            Longer texts are cut at the end.

        Returns
        -------
        list of int
            At most `max_length` numbers.
        """
        ids: list[int] = []
        for word in self._words(text):
            ids += self._pieces(word)
            if len(ids) >= max_length - 2:
                break
        return [self.vocab["[CLS]"], *ids[: max_length - 2], self.vocab["[SEP]"]]

    def _words(self, text: str) -> list[str]:
        """Split at blanks and around punctuation and ideographs, as BERT does."""
        out = []
        for char in text:
            if char in "\t\n\r":
                out.append(" ")
            elif ord(char) in (0, 0xFFFD) or unicodedata.category(char)[0] == "C":
                continue
            else:
                out.append(f" {char} " if _ideograph(ord(char)) else char)
        text = "".join(out)
        if self.lowercase:
            decomposed = unicodedata.normalize("NFD", text.lower())
            text = "".join(char for char in decomposed if unicodedata.category(char) != "Mn")
        return "".join(f" {char} " if _punctuation(char) else char for char in text).split()

    def _pieces(self, word: str) -> list[int]:
        """Take the longest piece from the left, again and again."""
        if len(word) > 100:
            return [self.vocab["[UNK]"]]
        ids, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                number = self.vocab.get(word[start:end] if start == 0 else "##" + word[start:end])
                if number is not None:
                    break
            else:
                return [self.vocab["[UNK]"]]
            ids.append(number)
            start = end
        return ids


def _punctuation(char: str) -> bool:
    code = ord(char)
    ascii_mark = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
    return ascii_mark or unicodedata.category(char)[0] == "P"


def _ideograph(code: int) -> bool:
    return (
        0x4E00 <= code <= 0x9FFF
        or 0x3400 <= code <= 0x4DBF
        or 0x20000 <= code <= 0x2CEAF
        or 0xF900 <= code <= 0xFAFF
        or 0x2F800 <= code <= 0x2FA1F
    )
