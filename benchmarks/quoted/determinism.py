"""What is reproduced, and how exactly."""

from benchmarks.number import Number, read

FLOAT32 = "sentences, batches, float32"


def determinism():
    avx2, sse2 = (read("instruction_sets").differ[name] for name in ("AVX2 with FMA", "SSE2"))
    for of in (avx2, sse2):
        assert all(figures.same_decisions for name, figures in of.items() if name != FLOAT32)
    assert not any(figures.parameters_differ for name, figures in avx2.items() if name != FLOAT32)
    most = max(figures.parameters_differ for name, figures in sse2.items() if name != FLOAT32)
    yield f"are bit-identical between the first two, and within {Number(most * 1e13):.1}e-13 of those with SSE2"
    assert avx2[FLOAT32].same_decisions
    assert not sse2[FLOAT32].same_decisions
    apart = avx2[FLOAT32].parameters_differ
    yield f"one network on AVX-512 and AVX2 (parameters within {Number(apart * 1e7):.1}e-7), and another on SSE2"
