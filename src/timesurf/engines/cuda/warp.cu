// What a warp does with a block of 32 events, lane = event. Follows card.cu and step.cu.

// Four distances of a lane become squared distances, |ts|^2 - 2 ts c + |c|^2, and the closest unit of each of its rows is kept.
// A lane has rows lane / 4 + 8 i and units nt 8 + 2 (lane % 4) + {0, 1}.
__device__ __forceinline__ void keep_closest(float* d, float norm, float2 length, int unit, float& best, int& closest) {
  d[0] = fmaf(-2.f, d[0], norm + length.x); d[1] = fmaf(-2.f, d[1], norm + length.y);
  if (d[0] < best) { best = d[0]; closest = unit; }
  if (d[1] < best) { best = d[1]; closest = unit + 1; }
}

// The closest unit of every row, which four lanes share; ties: the lowest. Then one event per lane: its squared distance, and its unit.
__device__ __forceinline__ void closest_of(float (&best)[4], int (&closest)[4], int lane, float& square, int& unit) {
  #pragma unroll
  for (int i = 0; i < 4; i++)
    #pragma unroll
    for (int s = 1; s < 4; s *= 2) {
      const float other = __shfl_xor_sync(ALL, best[i], s); const int f = __shfl_xor_sync(ALL, closest[i], s);
      if (other < best[i] || (other == best[i] && f < closest[i])) { best[i] = other; closest[i] = f; }
    }
  const int t4 = lane & 3, source = (lane & 7) * 4 + (lane >> 3);
  const float mine = t4 == 0 ? best[0] : t4 == 1 ? best[1] : t4 == 2 ? best[2] : best[3];
  const int mine_f = t4 == 0 ? closest[0] : t4 == 1 ? closest[1] : t4 == 2 ? closest[2] : closest[3];
  square = __shfl_sync(ALL, mine, source);
  unit = __shfl_sync(ALL, mine_f, source);
}

// What an event adds at an entry of the last layer's surface: w = 1 - v_old. Times on the clock of the map; before base: never.
__device__ __forceinline__ float added(int then, int base, int clock, float fade) {
  return then < base ? 1.f : 1.f - ex2((float)(then - clock) * fade);
}

// The last lane of a set; lane 0 of an empty one.
__device__ __forceinline__ int last_of(unsigned lanes) { return 31 - __clz(lanes | 1u); }

struct Lane {                                       // an event of a block of 32
  int e, clock, base;                               // entry; time on the clock of the map, and when the recording began there
  bool valid;
  unsigned before, upto;                            // lanes
  // Lanes with the same number; those beyond the last event have none in common with others.
  __device__ __forceinline__ unsigned same(int number) const { return __match_any_sync(ALL, valid ? number : (1 << 30) | __popc(before)); }
};

// When there was last an event at an entry, on the clock of the map; less than base: never. Then it is now.
__device__ __forceinline__ int last_time(int* map, const Lane& l) {
  const unsigned same = l.same(l.e), earlier = same & l.before;
  int then = -1;
  if (l.valid && !earlier) then = map[l.e];
  const int sibling = __shfl_sync(ALL, l.clock, last_of(earlier));
  __syncwarp();
  if (l.valid && !(same & ~l.upto)) map[l.e] = l.clock;
  return earlier ? sibling : then;
}

// v(k) = sum over events j up to k of v(j) exp(-(t_k - t_j) / tau), for every unit of the last layer.
template <int units, int row>
__device__ __forceinline__ void scan(float (&v)[row], float t, float fade, int lane) {
  #pragma unroll
  for (int s = 1; s < 32; s *= 2) {
    const float t_then = __shfl_up_sync(ALL, t, s), decay = lane >= s ? ex2((t_then - t) * fade) : 0.f;
    #pragma unroll
    for (int n = 0; n < units; n++) v[n] = fmaf(decay, __shfl_up_sync(ALL, v[n], s), v[n]);
  }
}

// The same from the last event back: over events j from k on.
template <int units, int row>
__device__ __forceinline__ void scan_back(float (&v)[row], float t, float fade, int lane) {
  #pragma unroll
  for (int s = 1; s < 32; s *= 2) {
    const float t_later = __shfl_down_sync(ALL, t, s), decay = lane + s < 32 ? ex2((t - t_later) * fade) : 0.f;
    #pragma unroll
    for (int n = 0; n < units; n++) v[n] = fmaf(decay, __shfl_down_sync(ALL, v[n], s), v[n]);
  }
}

// Add w R to the sums of all units at an entry.
template <int row>
__device__ __forceinline__ void give_entry(Sum* sums, float (&R)[row], float w) {
  #pragma unroll
  for (int i = 0; i < row / 4; i++) {
    float* v = R + 4 * i;
    #pragma unroll
    for (int j = 0; j < 4; j++) v[j] *= w;
    if (fabsf(v[0]) + fabsf(v[1]) + fabsf(v[2]) + fabsf(v[3]) > 0.f) add_four(sums + 4 * i, v);
  }
}

// Add what all lanes have to the sums of units.
template <int units>
__device__ __forceinline__ void give_gains(Sum* sums, float (&gain)[units], int lane) {
  #pragma unroll
  for (int n = 0; n < units; n++) {
    for (int s = 16; s; s >>= 1) gain[n] += __shfl_xor_sync(ALL, gain[n], s);
    if (lane == 0) add(sums + n, gain[n]);
  }
}
