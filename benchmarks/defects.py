"""Defects that mutations.py plants, one at a time: each is one substitution in one file.

All of them compile. The tests named are those in which a defect is looked for first.
"""

from typing import NamedTuple

KINDS = ("edge", "type", "race", "leak", "error path")


class Defect(NamedTuple):
    """What is planted: `old`, which occurs once in the file, becomes `new`."""

    name: str
    kind: str
    file: str
    says: str
    old: str
    new: str
    tests: str

    def planted(self, text: str) -> str:
        """Give the file's text with the defect; ValueError where the table is out of date."""
        if (found := text.count(self.old)) != 1:
            raise ValueError(f"{self.name}: {self.file} has what is replaced {found} times, not 1")
        return text.replace(self.old, self.new)


KERNELS = [
    Defect(
        "level of 128",
        "edge",
        "kernels/ladder/09_complete_unroll8.cuh",
        "A rung lacks one level of its tree, in blocks of 128 alone.",
        "if (blockDim.x >= 128)",
        "if (blockDim.x > 128)",
        "reductions/test_methods.py",
    ),
    Defect(
        "tile of 32",
        "edge",
        "kernels/tile.cuh",
        "A block of one warp folds what lies behind its tile.",
        "T value = block_size<Block>() > warp_size ?",
        "T value = block_size<Block>() >= warp_size ?",
        "reductions/test_methods.py",
    ),
    Defect(
        "misaligned tail",
        "edge",
        "kernels/vector.cuh",
        "The last elements are left out where the array begins off a boundary.",
        "tail + (rank - head)",
        "tail + rank",
        "reductions/test_methods.py",
    ),
    Defect(
        "row of the second dimension",
        "edge",
        "kernels/axes/typed_columns.cuh",
        "Of two reduced dimensions rows of the second are looked for at the distance of the first.",
        "deep ? x.from.strides[1] :",
        "deep ? x.from.strides[0] :",
        "axes/test_axes_on_devices.py",
    ),
    Defect(
        "bytes in order",
        "type",
        "kernels/axes/accumulator_bytes.cuh",
        "Of bytes without a sign the largest are taken for negative ones.",
        "word ^ 0x80808080",
        "word",
        "axes/test_axes_kernels.py axes/test_axes_on_devices.py",
    ),
    Defect(
        "segment behind a tile",
        "edge",
        "kernels/segments/scanned.cuh",
        "A segment of one element that lies behind a tile is taken from within it.",
        "if (!part.alone)\n        return part.n > 0 ? *last : state;",
        "if (true)\n        return part.n > 0 ? *last : state;",
        "axes/test_reduceat.py",
    ),
    Defect(
        "exact tile's end",
        "edge",
        "kernels/exact/tiles.cuh",
        "A tile that no windows hold is read one pack too far.",
        "packs > 0 && here < end; packs--",
        "packs > 0 && here <= end; packs--",
        "exact/test_exact_method.py",
    ),
    Defect(
        "square of an int8 total",
        "type",
        "kernels/axes/column_parts.cuh",
        "Variances of columns of int8 square totals in 32 bits.",
        "int64_t(part.total) * part.total",
        "int32_t(uint32_t(part.total) * uint32_t(part.total))",
        "axes/test_axes_kernels.py",
    ),
    Defect(
        "given mean",
        "type",
        "kernels/epilogue/results.cuh",
        "In the epilogue, spreads of all results are about the mean of the first.",
        "how.mean = results.means[place];",
        "how.mean = results.means[0];",
        "axes/test_given_means.py",
    ),
    Defect(
        "square of a complex128",
        "edge",
        "kernels/axes/accumulator.cuh",
        "Norms of complex128 along axes overflow where squares do.",
        "std::is_same_v<In, double> || std::is_same_v<In, complex<double>>",
        "std::is_same_v<In, double>",
        "axes/test_axes_kernels.py",
    ),
    Defect(
        "count of a segment",
        "type",
        "csrc/run/executor.c",
        "Whether all of a segment's elements are true is asked of all of the array's.",
        "(row->counts && plan->segments.of)",
        "false",
        "axes/test_reduceat.py",
    ),
    Defect(
        "counts of a team",
        "race",
        "kernels/axes/along.cuh",
        "A team's counts overwrite its states in shared memory without a barrier in between.",
        "if (x.counts) {\n        __syncthreads();",
        "if (x.counts) {",
        "axes/test_axes_on_devices.py",
    ),
    Defect(
        "barrier of a warp",
        "race",
        "kernels/tile.cuh",
        "Lanes store a level's values while others still load those of the level before.",
        "value = Fold::merge(value, x[tid ^ stride]);\n        __syncwarp();",
        "value = Fold::merge(value, x[tid ^ stride]);",
        "simulated/test_thread_order.py",
    ),
    Defect(
        "half way up",
        "type",
        "kernels/cpu/many_results.cuh",
        "Many results are rounded to float16 with ties up, not to even.",
        "(magnitude + odd + 0xfff - (112u << 23)) >> 13",
        "(magnitude + (odd | 1) + 0xfff - (112u << 23)) >> 13",
        "host/test_host_loops.py host/test_host.py arrays/test_results.py axes/test_along_axes.py",
    ),
    Defect(
        "every second element",
        "edge",
        "kernels/cpu/moves.cuh",
        "A register is loaded that reaches over the last of every second element.",
        "stride == 2 * size && i + lanes < n",
        "stride == 2 * size && i + lanes <= n",
        "axes/test_guarded_rows.py",
    ),
]

HOST = [
    Defect(
        "last bits of a mask",
        "edge",
        "csrc/threads/gather.c",
        "Of a mask whose length is no multiple of 8 the last bits are not uploaded.",
        "divide_up(n - at, MASK_BITS)",
        "(n - at) / MASK_BITS",
        "arrays/test_masks.py",
    ),
    Defect(
        "broadcast mask",
        "edge",
        "csrc/common/layout.c",
        "Dimensions are merged that only the array's strides allow, and not its mask's.",
        "continues(layout->strides, layout->shape, k) &&\n"
        "                            continues(layout->mask_strides, layout->shape, k);",
        "continues(layout->strides, layout->shape, k);",
        "arrays/test_masks.py",
    ),
    Defect(
        "position in a chunk",
        "edge",
        "csrc/cpu/chunk.c",
        "Positions of what a mask shows are counted from the chunk's beginning.",
        "end - at, start + at, state)",
        "end - at, at, state)",
        "host/test_host.py",
    ),
    Defect(
        "offset at the end",
        "edge",
        "csrc/python/reduce.c",
        "A segment that begins behind the last element is not refused.",
        "(uint64_t)segments->offsets[k] >= end",
        "(uint64_t)segments->offsets[k] > end",
        "axes/test_reduceat_arguments.py",
    ),
    Defect(
        "bfloat16 with 16 bits",
        "type",
        "csrc/arrays/numpys.c",
        "bfloat16 and 16-bit types promote to bfloat16, which holds no float16.",
        "return element == ELEMENT_BFLOAT16 || element_size(element) == 1;",
        "return element == ELEMENT_BFLOAT16 || element_size(element) <= 2;",
        "arrays/test_out.py",
    ),
    Defect(
        "shared buffer",
        "race",
        "csrc/cpu/tiles.c",
        "All threads work in one workspace.",
        "self->start + index, tiles_workspace(self, thread));",
        "self->start + index, tiles_workspace(self, thread * 0));",
        "exact/test_dot.py",
    ),
    Defect(
        "caller's arithmetic",
        "race",
        "csrc/threads/threads.c",
        "A thread that helps keeps the rounding mode of the job before.",
        "    fesetenv(&job->arithmetic);\n",
        "",
        "host/test_native.py",
    ),
    Defect(
        "warp's barriers",
        "race",
        "csrc/simulated/checker.c",
        "The checker takes lanes for ordered that have met at no barrier of their warp.",
        "[before->thread % SIMULATOR_WARP] > before->steps",
        "[before->thread % SIMULATOR_WARP] >= before->steps",
        "lab/test_lab.py",
    ),
    Defect(
        "device of DLPack",
        "leak",
        "csrc/arrays/dlpack.c",
        "The pair that __dlpack_device__ returns is never given back.",
        "OWNED *pair = PyObject_CallNoArgs(place);\n    if (!pair)\n        return declined();",
        "PyObject *pair = PyObject_CallNoArgs(place);\n    if (!pair)\n        return declined();",
        "arrays/test_flat_memory.py",
    ),
    Defect(
        "text of a shape",
        "leak",
        "csrc/arrays/operands.c",
        "Each out of a wrong shape leaves a text behind.",
        "OWNED *wanted = shape_tuple(",
        "PyObject *wanted = shape_tuple(",
        "axes/test_axes_arguments.py",
    ),
    Defect(
        "type of device memory",
        "leak",
        "csrc/python/memory.c",
        "Each result on a device leaves a reference to its type behind.",
        "&self->memory);\n    type->tp_free(object);\n    Py_DECREF(type);",
        "&self->memory);\n    type->tp_free(object);",
        "arrays/test_results.py",
    ),
    Defect(
        "workspace of a failure",
        "leak",
        "csrc/run/executor.c",
        "A run that fails keeps its workspace on the device.",
        "    machine->memory->release(machine, memory);\n    return done",
        "    if (done)\n        machine->memory->release(machine, memory);\n    return done",
        "host/test_threads.py",
    ),
    Defect(
        "pinned memory",
        "leak",
        "csrc/simulated/memory.c",
        "A call does not hold the simulated memory that it reads, and frees it in the end.",
        "    if (block)\n        block->holders++;\n",
        "",
        "arrays/test_simulated_arrays.py",
    ),
    Defect(
        "warning that is an error",
        "error path",
        "csrc/python/results.c",
        "An answer is given though its warning has been turned into an exception.",
        "text, 1 + frames) == 0;",
        "text, 1 + frames) <= 0;",
        "arrays/test_short_calls.py",
    ),
    Defect(
        "long segment",
        "error path",
        "csrc/cpu/segments.c",
        "Whether a long segment was folded is not looked at.",
        "    if (!folding_run(&part, state, &count))\n        return false;\n",
        "    folding_run(&part, state, &count);\n",
        "host/test_threads.py",
    ),
    Defect(
        "exception of an index",
        "error path",
        "csrc/arrays/cuda_interface.c",
        "Any exception of an integer's __index__ becomes a TypeError.",
        "return (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError)) &&\n"
        "               wrong_type(reading, key, is_address ?",
        "return wrong_type(reading, key, is_address ?",
        "gpu/test_cuda_interface.py",
    ),
    Defect(
        "memory of an absent GPU",
        "error path",
        "csrc/cuda/absent.c",
        "Without CUDA, memory of a GPU is taken for the host's.",
        "    note_absence(failure);\n    return LOCATED_NOWHERE;",
        "    (void)failure;\n    return LOCATED_ELSEWHERE;",
        "gpu/test_cuda_interface.py",
    ),
    Defect(
        "warning of an empty slice",
        "error path",
        "csrc/cpu/finalize.c",
        "A slice of which the mask hides everything is warned of only if it is the first.",
        "if (self->counts[k] < self->counts[fewest])",
        "if (self->counts[k] > self->counts[fewest])",
        "axes/test_along_axes.py",
    ),
]

PYTHON = [
    Defect(
        "third slab",
        "edge",
        "python/gred/dask.py",
        "Of more than 2048 exact results along axes the third slab overwrites the second.",
        "        at += n\n",
        "        at = n\n",
        "host/test_dask.py",
    ),
    Defect(
        "product of imaginary parts",
        "type",
        "python/gred/dask.py",
        "Products of imaginary parts are added, not subtracted.",
        "(a.imag, -b.imag)",
        "(a.imag, b.imag)",
        "host/test_dask.py",
    ),
    Defect(
        "no communicator",
        "error path",
        "python/gred/mpi.py",
        "A null communicator is only refused if it is MPI.COMM_NULL itself.",
        "if comm == mpi.COMM_NULL:",
        "if comm is mpi.COMM_NULL:",
        "host/test_mpi.py",
    ),
    Defect(
        "offsets of another type",
        "error path",
        "python/gred/segments.py",
        "Offsets of a type that int64 does not hold are cast.",
        'casting="safe"',
        'casting="unsafe"',
        "axes/test_reduceat_arguments.py",
    ),
    Defect(
        "middle of an odd length",
        "edge",
        "python/gred/scaled.py",
        "The pass after one over an odd number of elements is predicted without its middle one.",
        "size = size - size // 2 if halves else counts.blocks",
        "size = size // 2 if halves else counts.blocks",
        "cli/test_roofline.py",
    ),
    Defect(
        "two-way conflicts",
        "edge",
        "python/gred/drawing/banks.py",
        "The picture shows two threads on one bank as if they were alone.",
        "if len(threads) > 1 else",
        "if len(threads) > 2 else",
        "cli/test_picture.py",
    ),
    Defect(
        "wrong peer",
        "error path",
        "python/gred/cli/outcome.py",
        "gred is compared with libraries whose answer is wrong.",
        ' and row["median_ns"] and row["right"]]',
        ' and row["median_ns"]]',
        "cli/test_cli_versus.py",
    ),
    Defect(
        "edge of a check",
        "edge",
        "python/gred/lab/edges.py",
        "Rungs of one's own are not checked at one element more than a warp or a block takes.",
        "{edge - 1, edge, edge + 1}",
        "{edge - 1, edge}",
        "lab/test_lab_exercises.py",
    ),
]

DEFECTS = [*KERNELS, *HOST, *PYTHON]
