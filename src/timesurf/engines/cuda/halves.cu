// Products on the tensor cores, each factor in two half-precision parts: the larger, and what is left. Follows card.cu.

__device__ __forceinline__ unsigned pack(float x, float y) { unsigned v; asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(y), "f"(x)); return v; }
__device__ __forceinline__ float2 unpack(unsigned v) {
  float2 pair;
  asm("{ .reg .b16 x, y; mov.b32 {x, y}, %2; cvt.f32.f16 %0, x; cvt.f32.f16 %1, y; }" : "=f"(pair.x), "=f"(pair.y) : "r"(v));
  return pair;
}
__device__ __forceinline__ unsigned rest(float x, float y, unsigned top) { const float2 taken = unpack(top); return pack(x - taken.x, y - taken.y); }

__device__ __forceinline__ void product(float* d, const unsigned* a, unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A 16 x 16 piece of a matrix in shared memory; each lane gives the address of a row of 8.
__device__ __forceinline__ void load_matrix(unsigned* v, unsigned at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(at) : "memory");
}
