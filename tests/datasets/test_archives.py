"""Data sets in zip and tar archives: read in place, and refused with the reason where they are bad."""

import gzip
import io
import tarfile
import zipfile

import pandas as pd
import pytest

import ragkit as rk

CORPUS = '{"_id": "1", "title": "T", "text": "red fox"}\n{"_id": "2", "text": "blue whale"}\n'
FILES = {
    "corpus.jsonl": CORPUS.encode(),
    "queries.jsonl.gz": gzip.compress(b'{"_id": "q1", "text": "fox"}\n{"_id": "q2", "text": "whale"}\n'),
    "qrels/test.tsv": b"query-id\tcorpus-id\tscore\nq1\t1\t2\nq2\t2\t1\n",
    "qrels/train.tsv": b"query-id\tcorpus-id\tscore\nq1\t2\t1\n",
}
KINDS = ["d.zip", "d.tar", "d.tgz", "d.tar.gz", "d.tar.bz2", "d.txz", "no_ending"]


def pack(path, files, links=()):
    """Write an archive of the kind that the name says."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return path
    packed = {"tgz": "gz", "gz": "gz", "bz2": "bz2", "txz": "xz"}.get(path.suffix[1:], "")
    with tarfile.open(path, f"w:{packed}") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for name, target, kind in links:
            info = tarfile.TarInfo(name)
            info.linkname, info.type = target, kind
            archive.addfile(info)
    return path


# Worked examples -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("folder", ["", "scifact/", "./", "data/beir/scifact/"])
def test_every_kind_of_archive_reads_like_the_folder(tmp_path, name, folder):
    for file, data in FILES.items():
        (tmp_path / "plain" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "plain" / file).write_bytes(data)
    (tmp_path / "packed").mkdir()
    archive = pack(tmp_path / "packed" / name, {folder + file: data for file, data in FILES.items()})
    if folder == "./" and name == "d.zip":
        return  # zip programs write no such names
    for split in ("test", "train"):
        plain, packed = (
            rk.load_dataset(tmp_path / "plain", split=split),
            rk.load_dataset(archive, split=split),
        )
        for ours, expected in zip(packed[:3], plain[:3]):
            pd.testing.assert_frame_equal(ours, expected)
    assert [f.name for f in archive.parent.iterdir()] == [name]  # nothing was unpacked


def test_an_archive_is_no_file_of_documents(tmp_path):
    archive = pack(tmp_path / "d.tgz", FILES)
    with pytest.raises(ValueError, match=r"d.tgz' is an archive; load_dataset reads the data set inside"):
        rk.read_docs(archive)


def test_an_archive_without_a_corpus_says_what_it_holds(tmp_path):
    archive = pack(tmp_path / "d.tar", {"a/b/corpus.pdf": b"", "notes.txt": b""})
    with pytest.raises(FileNotFoundError, match=r"holds no corpus.jsonl; found 'a', 'notes.txt'"):
        rk.load_dataset(archive)


@pytest.mark.parametrize("name", ["d.zip", "d.tar"])
def test_an_archive_of_several_data_sets_names_them(tmp_path, name):
    archive = pack(tmp_path / name, {f"cqadupstack/{part}/corpus.jsonl": b"" for part in ("unix", "gis")})
    with pytest.raises(
        ValueError, match="holds several data sets: 'gis', 'unix'; unpack it, and give the folder"
    ):
        rk.load_dataset(archive)


# Bad archives ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["d.zip", "d.tar", "d.tgz"])
@pytest.mark.parametrize("member", ["../evil.txt", "/tmp/evil.txt", "a/../../evil.txt", "..\\evil.txt"])
def test_names_that_leave_the_archive_are_refused(tmp_path, name, member):  # SEC-02
    archive = pack(tmp_path / name, FILES | {member: b"evil"})
    with pytest.raises(ValueError, match=r"leave its folder: .*evil.txt'; it is not to be trusted"):
        rk.load_dataset(archive)
    assert not list(tmp_path.parent.rglob("evil*"))


@pytest.mark.parametrize(
    ("name", "target", "kind"),
    [
        ("queries.jsonl", "/etc/passwd", tarfile.SYMTYPE),
        ("queries.jsonl", "../../etc/passwd", tarfile.SYMTYPE),
        ("qrels/dev.tsv", "../../x", tarfile.SYMTYPE),
        ("queries.jsonl", "../x", tarfile.LNKTYPE),
    ],
)
def test_links_that_leave_the_archive_are_refused(tmp_path, name, target, kind):
    archive = pack(tmp_path / "d.tar", {"corpus.jsonl": CORPUS.encode()}, [(name, target, kind)])
    with pytest.raises(ValueError, match="not to be trusted"):
        rk.load_dataset(archive)


def test_links_and_devices_inside_are_not_followed(tmp_path):
    inside = [("queries.jsonl", "corpus.jsonl", tarfile.SYMTYPE), ("qrels.tsv", "", tarfile.FIFOTYPE)]
    data = rk.load_dataset(pack(tmp_path / "d.tar", {"corpus.jsonl": CORPUS.encode()}, inside))
    assert data.docs["doc_id"].tolist() == ["1", "2"] and data.queries is None and data.qrels is None


@pytest.mark.parametrize("name", ["d.zip", "d.tar", "d.tgz", "d.tar.bz2", "d.txz"])
def test_a_file_that_only_claims_to_be_an_archive_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"<html>404 Not Found</html>")
    with pytest.raises(ValueError, match=f"{name} is damaged, or no archive: it cannot be read as"):
        rk.load_dataset(tmp_path / name)


@pytest.mark.parametrize("name", ["d.zip", "d.tar", "d.tgz", "d.tar.bz2", "d.txz"])
def test_an_archive_that_was_cut_short_is_refused(tmp_path, name):
    lines = "".join(f'{{"_id": "{n}", "text": "{n * 7919 % 10007} {n * 104729}"}}\n' for n in range(4000))
    whole = pack(tmp_path / name, {"corpus.jsonl": lines.encode()})
    assert len(rk.load_dataset(whole).docs) == 4000
    whole.write_bytes(whole.read_bytes()[: whole.stat().st_size * 2 // 3])
    with pytest.raises(ValueError, match="damaged"):
        rk.load_dataset(whole)


def test_a_flipped_bit_is_found_by_the_checksum(tmp_path):
    archive = pack(tmp_path / "d.zip", {"corpus.jsonl": CORPUS.encode() * 50})
    data = bytearray(archive.read_bytes())
    data[60] ^= 1
    archive.write_bytes(bytes(data))
    with pytest.raises(ValueError, match=r"corpus.jsonl is a damaged file of an archive"):
        rk.load_dataset(archive)


def test_a_zip_with_a_password_is_refused_with_the_reason(tmp_path):
    archive = pack(tmp_path / "d.zip", {"corpus.jsonl": CORPUS.encode()})
    data = bytearray(archive.read_bytes())
    data[6] |= 1  # the flag in the file's own header, and in the directory
    data[data.index(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(bytes(data))
    with pytest.raises(ValueError, match=r"cannot be unpacked: .*encrypted, password required"):
        rk.load_dataset(archive)


@pytest.mark.parametrize("name", ["d.zip", "d.tgz"])
def test_an_archive_that_unpacks_to_far_more_than_it_holds_is_refused(tmp_path, name):
    with_zeros = {"corpus.jsonl": CORPUS.encode() + b"\n" * (1 << 20)}
    archive = pack(tmp_path / name, with_zeros)
    assert len(rk.load_dataset(archive).docs) == 2  # small enough to be harmless, whatever the ratio
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ragkit.datasets.archives._LARGEST", 1000)
        with pytest.raises(ValueError, match=r"would unpack to 1,048,\d+ bytes; unpack it yourself"):
            rk.load_dataset(archive)
