"""Takes the instructions of a BPF program out of an object file, and the places that wait for the map's descriptor."""

from __future__ import annotations

import struct
from dataclasses import dataclass

#: elf(5), and Documentation/bpf/llvm_reloc.rst of the kernel.
_EM_BPF = 247
_SHT_SYMTAB = 2
_SHT_NOBITS = 8
_SHT_REL = 9
_R_BPF_64_64 = 1
_INSTRUCTION = 8


class BadObject(Exception):
    """The object has something in it that the module's loader does not know."""


@dataclass(frozen=True)
class Code:
    """``instructions`` as the kernel takes them, but for the descriptor of the map at the ``references``."""

    instructions: bytes
    references: tuple[int, ...]  #: indexes of instructions
    memory_size: int  #: bytes


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    content: bytes
    size: int
    link: int
    info: int


def _text(table: bytes, offset: int) -> str:
    return table[offset : table.index(b"\0", offset)].decode()


def _sections(image: bytes) -> list[_Section]:
    if image[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", image, 18)[0] != _EM_BPF:
        raise BadObject("This is no little-endian object for BPF.")
    (start,) = struct.unpack_from("<Q", image, 40)
    size, count, names = struct.unpack_from("<HHH", image, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, start + index * size) for index in range(count)]
    contents = [b"" if head[1] == _SHT_NOBITS else image[head[4] : head[4] + head[5]] for head in headers]
    return [
        _Section(_text(contents[names], head[0]), head[1], content, head[5], head[6], head[7])
        for head, content in zip(headers, contents, strict=True)
    ]


def read_code(image: bytes, section: str) -> Code:
    """Return the program in a section. Raises BadObject unless all that it refers to is in one block of zeros."""
    sections = _sections(image)
    found = [index for index, each in enumerate(sections) if each.name == section and each.kind != _SHT_REL]
    if len(found) != 1:
        raise BadObject(f"There is not one section '{section}', but {len(found)}.")
    memory = [index for index, each in enumerate(sections) if each.kind == _SHT_NOBITS and each.size]
    if len(memory) != 1:
        raise BadObject(f"There is not one block of zeroed variables, but {len(memory)}.")
    code = bytearray(sections[found[0]].content)
    references = []
    for table in (each for each in sections if each.kind == _SHT_REL and each.info == found[0]):
        symbols = sections[table.link]
        if symbols.kind != _SHT_SYMTAB:
            raise BadObject("A table of relocations has no symbols.")
        for place, what in struct.iter_unpack("<QQ", table.content):
            _name, _info, _other, index, value, _size = struct.unpack_from(
                "<IBBHQQ", symbols.content, (what >> 32) * 24
            )
            if what & 0xFFFFFFFF != _R_BPF_64_64 or index != memory[0] or place % _INSTRUCTION:
                raise BadObject(f"The relocation at byte {place} is not for a zeroed variable.")
            # BPF_PSEUDO_MAP_VALUE: the descriptor in the first half, the offset within the value in the second.
            (offset,) = struct.unpack_from("<i", code, place + 4)
            struct.pack_into("<i", code, place + 4, 0)
            struct.pack_into("<i", code, place + _INSTRUCTION + 4, value + offset)
            references.append(place // _INSTRUCTION)
    return Code(bytes(code), tuple(sorted(references)), sections[memory[0]].size)
