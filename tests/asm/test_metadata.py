"""The metadata note: written, assembled and read back; and damaged in every way that matters."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import msgpack
import pytest

from pykittens.asm.code_object import read
from pykittens.asm.metadata import (
    ACCESSES,
    ADDRESS_SPACES,
    EXPLICIT_KINDS,
    HIDDEN_KINDS,
    KernelArgument,
    KernelMetadata,
    Metadata,
    parse_metadata,
    render_metadata,
)
from pykittens.asm.toolchain import assemble
from pykittens.errors import BuildError, CodeObjectError

PLAIN = KernelMetadata("k", "k.kd", (), 0, 8, 0, 0, 64, 256, 10, 4)

# Every field differs from its default and from every other.
FULL = KernelMetadata(
    name="_ZN5tiles4gemmE",
    symbol="_ZN5tiles4gemmE.kd",
    args=(
        KernelArgument(
            offset=0,
            size=8,
            kind="global_buffer",
            name="A",
            type_name="float*",
            dtype="f32",
            address_space="global",
            access="read_write",
            actual_access="read_only",
            is_const=True,
            is_restrict=True,
            is_volatile=True,
        ),
        KernelArgument(8, 4, "dynamic_shared_pointer", name="shared", address_space="local", pointee_align=16),
        KernelArgument(16, 4, "hidden_block_count_x"),
    ),
    kernarg_size=272,
    kernarg_align=16,
    lds_bytes=163840,
    scratch_bytes=260,
    wavefront_size=64,
    max_workgroup_size=512,
    sgprs=108,
    vgprs=504,
    agprs=250,
    sgpr_spills=3,
    vgpr_spills=5,
    uses_dynamic_stack=True,
    uniform_workgroup_size=True,
    reqd_workgroup_size=(512, 1, 2),
    workgroup_size_hint=(64, 2, 1),
    vec_type_hint="float4",
    language="OpenCL C",
    language_version=(2, 0),
    kernel_kind="init",
    device_enqueue_symbol="enqueue",
)


def through_the_assembler(metadata: Metadata, arch: str = "gfx950") -> Metadata:
    """What is read back from a file with that metadata and a descriptor for each of its kernels."""
    text = "".join(
        f".text\n.p2align 8\n{kernel.name}:\ns_endpgm\n.rodata\n.p2align 6\n.amdhsa_kernel {kernel.name}\n"
        f".amdhsa_next_free_vgpr 4\n.amdhsa_next_free_sgpr 4\n.amdhsa_accum_offset 4\n.end_amdhsa_kernel\n"
        for kernel in metadata.kernels
    )
    found = read(assemble(text + render_metadata(metadata), arch)).metadata
    assert found is not None
    return found


def test_every_field_comes_back() -> None:
    untouched = [f.name for f in fields(FULL) if getattr(FULL, f.name) == f.default]
    assert untouched == []
    metadata = Metadata((FULL, PLAIN), (1, 2), "amdgcn-amd-amdhsa--gfx950", ("1:1:4:%d\\n", "2:0:it's"))
    assert through_the_assembler(metadata) == metadata


def test_every_kind_of_argument_comes_back() -> None:
    kinds = sorted(EXPLICIT_KINDS | HIDDEN_KINDS)
    args = tuple(KernelArgument(8 * i, 8, kind) for i, kind in enumerate(kinds))
    kernel = replace(PLAIN, args=args, kernarg_size=8 * len(kinds))
    metadata = Metadata((kernel,), target="amdgcn-amd-amdhsa--gfx942")
    assert through_the_assembler(metadata, "gfx942") == metadata
    assert {argument.kind for argument in args if argument.hidden} == HIDDEN_KINDS


def test_every_address_space_and_access_comes_back() -> None:
    args = [KernelArgument(8 * i, 8, "image", address_space=space) for i, space in enumerate(sorted(ADDRESS_SPACES))]
    args += [KernelArgument(64 + 8 * i, 8, "image", access=access) for i, access in enumerate(sorted(ACCESSES))]
    metadata = Metadata((replace(PLAIN, args=tuple(args), kernarg_size=96),), target="amdgcn-amd-amdhsa--gfx950")
    assert through_the_assembler(metadata) == metadata


def test_text_that_yaml_could_take_for_something_else_comes_back() -> None:
    words = ["nan", "inf", "true", "null", "y", "yes", "~", "123", "0x10", "1e5", "-", "", " lead", "a: b", "#x", "é"]
    words += ["'", '"', "\\n", "!!str x", "&a", "*a", "[1]", "{a", "|", "%x", "@x", "a #b", "<<", "=", "float *"]
    args = tuple(KernelArgument(4 * i, 4, "by_value", name=word) for i, word in enumerate(words))
    metadata = Metadata((replace(PLAIN, args=args, kernarg_size=4 * len(args)),), target="amdgcn-amd-amdhsa--gfx950")
    assert through_the_assembler(metadata) == metadata


def test_unprintable_text_is_refused() -> None:
    with pytest.raises(BuildError, match="unprintable"):
        render_metadata(Metadata((replace(PLAIN, vec_type_hint="a\nb"),)))


def note(**changes: Any) -> dict[str, Any]:
    """A hand-written note in the manner of version 1.0 files, with entries of its kernel changed or removed (None)."""
    kernel = {
        ".name": "k",
        ".symbol": "k.kd",
        ".args": [{".name": "p", ".offset": 0, ".size": 8, ".value_kind": "global_buffer", ".address_space": "global"}],
        ".kernarg_segment_size": 16,
        ".kernarg_segment_align": 4,
        ".group_segment_fixed_size": 65536,
        ".private_segment_fixed_size": 0,
        ".wavefront_size": 64,
        ".sgpr_count": 96,
        ".vgpr_count": 256,
        ".max_flat_workgroup_size": 256,
        ".reqd_workgroup_size": [256, 1, 1],
    }
    kernel |= {"." + key: value for key, value in changes.items()}
    return {
        "amdhsa.version": [1, 0],
        "amdhsa.kernels": [{key: value for key, value in kernel.items() if value is not None}],
    }


def test_an_old_note_says_less() -> None:
    metadata = parse_metadata(msgpack.packb(note(something_new=7)))
    assert metadata.version == (1, 0)
    assert metadata.target is None
    (kernel,) = metadata.kernels
    assert kernel.args == (KernelArgument(0, 8, "global_buffer", name="p", address_space="global"),)
    assert (kernel.lds_bytes, kernel.kernarg_size, kernel.reqd_workgroup_size) == (65536, 16, (256, 1, 1))
    assert (kernel.agprs, kernel.sgpr_spills, kernel.uses_dynamic_stack) == (None, None, None)


def test_a_kernel_without_arguments_need_not_list_them() -> None:
    assert parse_metadata(msgpack.packb(note(args=None))).kernels[0].args == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no valid msgpack"),
        (b"\xc1", "no valid msgpack"),
        (msgpack.packb(note())[:-3], "no valid msgpack"),
        (msgpack.packb(note()) + b"\x00", "no valid msgpack"),
        (b"\xdd\xff\xff\xff\xff", "no valid msgpack"),  # a list of 4 billion
        (b"\x91" * 5000, "no valid msgpack"),  # nested
        (b"\x81\xa1\xff\x00", "no valid msgpack"),  # text that is not UTF-8
        (msgpack.packb([1]), "is no map"),
        (msgpack.packb({"amdhsa.version": [1, 2], "amdhsa.kernels": 3}), "amdhsa.kernels that is no list"),
        (msgpack.packb({"amdhsa.version": [1, 2], "amdhsa.kernels": [3]}), r"amdhsa.kernels\[0\] that is no map"),
        (msgpack.packb({"amdhsa.kernels": []}), "amdhsa.version"),
        (msgpack.packb({"amdhsa.version": [1, 2], "amdhsa.target": 3}), "amdhsa.target"),
        (msgpack.packb({"amdhsa.version": [1, 2], "amdhsa.printf": [3]}), "amdhsa.printf"),
        (msgpack.packb(note(name=None)), r"lacks amdhsa.kernels\[0\].name"),
        (msgpack.packb(note(vgpr_count=None)), "lacks .*vgpr_count"),
        (msgpack.packb(note(vgpr_count="many")), "'many' for .*vgpr_count"),
        (msgpack.packb(note(vgpr_count=True)), "True for .*vgpr_count"),
        (msgpack.packb(note(vgpr_count=-1)), "-1 for .*vgpr_count"),
        (msgpack.packb(note(kernarg_segment_size=1 << 32)), "4294967296 for .*kernarg_segment_size"),
        (msgpack.packb(note(uses_dynamic_stack=2)), "2 for .*uses_dynamic_stack"),
        (msgpack.packb(note(reqd_workgroup_size=[1, "x", 1])), r"'x' for .*reqd_workgroup_size\[1\]"),
        (msgpack.packb(note(args=[3])), r"args\[0\] that is no map"),
        (msgpack.packb(note(args=[{".offset": 0, ".size": 4}])), r"lacks .*args\[0\].value_kind"),
        (msgpack.packb(note(args=[{".offset": 0, ".size": 4, ".value_kind": "hidden_x"}])), "value_kind 'hidden_x'"),
        (msgpack.packb(note(args=[{".offset": 12, ".size": 8, ".value_kind": "by_value"}])), "byte 20 .* of 16"),
        (
            msgpack.packb(note(args=[{".offset": 0, ".size": 8, ".value_kind": "by_value", ".address_space": "far"}])),
            "address_space 'far'",
        ),
        (
            msgpack.packb(note(args=[{".offset": 0, ".size": 8, ".value_kind": "by_value", ".access": "none"}])),
            "access 'none'",
        ),
    ],
)
def test_a_damaged_note_is_an_error_that_names_the_place(content: bytes, message: str) -> None:
    with pytest.raises(CodeObjectError, match=message) as caught:
        parse_metadata(content, "x.co")
    assert caught.value.where == "x.co"
