// The path by blocks of events, for networks of one Window layer below one Full layer, weights that stay for the whole batch.
//
// With weights that stay, what the first layer decides never changes its own time map. So a warp takes 32 events of a recording
// at a time (lane = event):
//   1. build           their surfaces, in order, into shared memory;
//   2. multiply        products with all centroids on the tensor cores; each factor is split in two TF32 parts, and three products are made;
//   3. last_layer      a linear recurrence, as a scan over the lanes: dot_n = dot_n fade + w c_n[e],  w = 1 - v_old;
//   4. when learning   S and dS, steps of thresholds, and sums of gain x surface as (one-hot gain) x surfaces, on the tensor cores;
//   5. sum_backwards   after the last block: sums of the last layer, a reverse scan: dC[n, e] += w_k R_n(k),
//      R_n(k) = sum over later outputs i of n: g_i exp(-(t_i - t_k) / tau).
// GROUP warps share a recording where there are too few to fill the card. Block b belongs to warp b % GROUP; each has a time map of its own,
// and writes the others' events there too. What goes from block to block is handed on in shared memory, in chains.
//
// Follows blocks_parts.cu and blocks_learn.cu.

// ---------------------------------------------------------------------- before the first recording

__device__ __forceinline__ void start_chains(Barrier (*barriers)[WARPS]) {
  if (GROUP == 1) return;
  if (threadIdx.x < CHAINS * WARPS)
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"((unsigned)__cvta_generic_to_shared(&barriers[0][0] + threadIdx.x)) : "memory");
  __syncthreads();
}

__device__ __forceinline__ void split_centroids(const Args& a, int network, float4* parts) {
  const float* c = a.layer[0].c + (long long)network * ENTRIES * FIRST.row;
  for (int i = threadIdx.x; i < KS * NT * 32; i += blockDim.x) {
    const int l = i & 31, n = (i >> 5) % NT * 8 + (l >> 2), k = (i >> 5) / NT * 8 + (l & 3);
    const float v0 = k < ENTRIES && n < UNITS ? c[k * FIRST.row + n] : 0.f;
    const float v1 = k + 4 < ENTRIES && n < UNITS ? c[(k + 4) * FIRST.row + n] : 0.f;
    const unsigned h0 = rounded(__float_as_uint(v0)), h1 = rounded(__float_as_uint(v1));
    parts[i] = make_float4(__uint_as_float(h0), __uint_as_float(h1), v0 - __uint_as_float(h0), v1 - __uint_as_float(h1));
  }
}

// Thresholds and lengths of the units; units that only fill up a step are far from everything. And empty surfaces.
__device__ __forceinline__ void fill_shared(const Args& a, int network, const Warp& here, const Rates& rates) {
  for (int n = threadIdx.x; n < NT * 8; n += blockDim.x) {
    const float border = n < UNITS ? a.layer[0].th[network * UNITS + n] : 0.f;
    here.th[n] = border;
    here.near[n] = offset_of(rates, border);
    here.cc[n] = n < UNITS ? a.layer[0].cc[network * UNITS + n] : 1e37f;
  }
  for (int n = threadIdx.x; n < LAST_UNITS; n += blockDim.x) here.cc_last[n] = a.layer[1].cc[network * LAST_UNITS + n];
  for (int i = here.lane; i < SURFACES; i += 32) here.ts[i] = 0.f;
  __syncwarp();
  if (LEARN) here.ts[here.lane * STRIDE + ENTRIES] = 1.f;
  __syncthreads();
}

// ---------------------------------------------------------------------- surfaces and distances

__device__ __forceinline__ void fetch_first(Ahead& ahead, const Warp& here, const Recording& of) {
  #pragma unroll
  for (int w = 0; w < GROUP; w++) {
    const int i = min((here.member - GROUP + 1 + w) * 32 + here.lane, of.events - 1);
    ahead.entry[w] = i >= 0 ? of.entries[i] : 0;
    ahead.t[w] = i >= 0 ? of.times[i] : 0;
  }
}

// Surfaces of a block of events, the other warps' events before it written to the map first; entry and time of this lane's event.
__device__ __forceinline__ void build(const Warp& here, const Builder& to, const Recording& of, Ahead& ahead, int block, float fade, int& entry, int& time) {
  if (GROUP > 1) {
    #pragma unroll
    for (int w = 0; w < GROUP - 1; w++)
      if (block - GROUP + 1 + w >= 0)
        atomicMax((int*)here.map + corner(ahead.entry[w]) + OWN + ahead.entry[w] % POLARITIES, __float_as_int((float)(int)((unsigned)ahead.t[w] - of.began)));
  }
  entry = ahead.entry[GROUP - 1]; time = (int)((unsigned)ahead.t[GROUP - 1] - of.began);
  #pragma unroll
  for (int w = 0; w < GROUP; w++) {
    const int i = min((block + 1 + w) * 32 + here.lane, of.events - 1);
    ahead.entry[w] = of.entries[i]; ahead.t[w] = of.times[i];
  }
  here.line[here.lane] = make_int2(to.map_at + corner(entry) * 4 + (entry % POLARITIES << 20), __float_as_int((float)time));
  __syncwarp();
  #pragma unroll UNROLLED_EVENTS
  for (int k = 0; k < 32; k += 4) {                 // the event's own time is written before its surface is read
    int2 event[4]; float v[4 * LOADS];
    #pragma unroll
    for (int u = 0; u < 4; u++) event[u] = here.line[k + u];
    #pragma unroll
    for (int u = 0; u < 4; u++) {
      const unsigned at = POLARITIES > 1 ? event[u].x & 0xfffff : event[u].x, own_p = POLARITIES > 1 ? event[u].x >> 20 : 0;
      store(at + own_p * 4, OWN * 4, __int_as_float(event[u].y));
      __syncwarp();
      #pragma unroll
      for (int i = 0; i < LOADS; i++) v[u * LOADS + i] = load(at + to.step[i], 0);
      __syncwarp();
    }
    #pragma unroll
    for (int u = 0; u < 4; u++)
      #pragma unroll
      for (int i = 0; i < LOADS; i++) {
        const float value = ex2((v[u * LOADS + i] - __int_as_float(event[u].y)) * fade);
        if (here.lane + 32 * i < ENTRIES) store(to.ts_at, ((k + u) * STRIDE + 32 * i) * 4, value);
      }
  }
  __syncwarp();
}

// Products of surfaces and centroids, and |ts|^2; rows are events, columns units.
__device__ __forceinline__ void multiply(const Warp& here, unsigned matrix_at, float (&dist)[2][NT][4], float (&norm)[4]) {
  #pragma unroll
  for (int i = 0; i < 8 * NT; i++) (&dist[0][0][0])[i] = 0.f;
  #pragma unroll UNROLLED_STEPS
  for (int ks = 0; ks < KS; ks++) {
    unsigned top[2][4], rest[2][4];
    #pragma unroll
    for (int mt = 0; mt < 2; mt++) {
      load_matrix(top[mt], matrix_at + (mt * 16 * STRIDE + ks * 8) * 4, HALF && ks == KS - 1);
      #pragma unroll
      for (int i = 0; i < 4; i++) {
        const unsigned v = top[mt][i];
        norm[mt * 2 + (i & 1)] = fmaf(__uint_as_float(v), __uint_as_float(v), norm[mt * 2 + (i & 1)]);
        top[mt][i] = high(v); rest[mt][i] = low(v, top[mt][i]);
      }
    }
    float4 b[NT];
    #pragma unroll
    for (int nt = 0; nt < NT; nt++) b[nt] = here.parts[(ks * NT + nt) * 32 + here.lane];
    #pragma unroll
    for (int nt = 0; nt < NT; nt++)
      #pragma unroll
      for (int mt = 0; mt < 2; mt++) product(dist[mt][nt], rest[mt], __float_as_uint(b[nt].x), __float_as_uint(b[nt].y));
    #pragma unroll
    for (int nt = 0; nt < NT; nt++)
      #pragma unroll
      for (int mt = 0; mt < 2; mt++) product(dist[mt][nt], top[mt], __float_as_uint(b[nt].z), __float_as_uint(b[nt].w));
    #pragma unroll
    for (int nt = 0; nt < NT; nt++)
      #pragma unroll
      for (int mt = 0; mt < 2; mt++) product(dist[mt][nt], top[mt], __float_as_uint(b[nt].x), __float_as_uint(b[nt].y));
  }
  #pragma unroll
  for (int i = 0; i < 4; i++) {
    norm[i] += __shfl_xor_sync(ALL, norm[i], 1); norm[i] += __shfl_xor_sync(ALL, norm[i], 2);
    if (LEARN) norm[i] -= 1.f;
  }
}

// Squared distances; the closest unit of each row of this lane.
__device__ __forceinline__ void to_distances(const Warp& here, float (&dist)[2][NT][4], const float (&norm)[4], float (&best)[4], int (&closest)[4]) {
  const int t4 = here.lane & 3;
  #pragma unroll
  for (int i = 0; i < 4; i++) { best[i] = 1e38f; closest[i] = 0; }
  #pragma unroll
  for (int nt = 0; nt < NT; nt++) {
    const float2 length = *(float2*)(here.cc + nt * 8 + 2 * t4);
    #pragma unroll
    for (int i = 0; i < 4; i++) keep_closest(&dist[i >> 1][nt][(i & 1) * 2], norm[i], length, nt * 8 + 2 * t4, best[i], closest[i]);
  }
}

// ---------------------------------------------------------------------- the last layer

struct Output {                                     // of this lane's event
  int e, clock;                                     // entry of the last layer; time on the clock of its map
  bool pass;
  float t;                                          // us, in the recording
  unsigned same, earlier;                           // lanes at the same entry, and those before this one
};

// When there was an output at the entry before, on the clock of the map: of a lane before, or on the map, which the blocks before have left.
__device__ __forceinline__ int last_time(const Warp& here, const Output& out, int* map, int then, int block, int blocks) {
  here.take_over(MAPS, block);
  if (GROUP > 1 && out.pass && !out.earlier) then = shared_by_block(map + out.e);
  const int sibling = __shfl_sync(ALL, out.clock, last_of(out.earlier));
  if (out.earlier) then = sibling;
  __syncwarp();
  if (out.pass && !(out.same & ~here.upto)) map[out.e] = out.clock;
  if (GROUP > 1) { __syncwarp(); if (here.lane == 0) here.pass_on(MAPS, block, blocks); }
  return then;
}

// Dot products of all units by a scan, and the unit that fires; fed: when each unit fired last.
__device__ __forceinline__ int decide(const Warp& here, const Output& out, const float (&cs)[ROW], float w, float fade, int block, int blocks, float (&fed)[ROW], int& votes) {
  float dot[ROW];
  #pragma unroll
  for (int n = 0; n < ROW; n++) dot[n] = w * cs[n];
  scan<LAST_UNITS>(dot, out.t, fade, here.lane);
  here.take_over(DOTS, block);
  {
    float carry[2 * ROW];
    #pragma unroll
    for (int i = 0; i < 2 * ROW / 4; i++) *(float4*)(carry + 4 * i) = *(float4*)(here.control + 4 * i);
    const float decay = ex2((here.control[CLOCK] - out.t) * fade);
    #pragma unroll
    for (int n = 0; n < ROW; n++) { if (n < LAST_UNITS) dot[n] = fmaf(decay, carry[DOT + n], dot[n]); fed[n] = carry[FEED + n]; }
  }
  int winner = 0; float least = 1e38f;
  #pragma unroll
  for (int n = 0; n < LAST_UNITS; n++) { const float d = fmaf(-2.f, dot[n], here.cc_last[n]); if (d < least) { least = d; winner = n; } }
  #pragma unroll
  for (int n = 0; n < LAST_UNITS; n++) {
    const unsigned m = __ballot_sync(ALL, out.pass && winner == n);
    if (here.lane == n) votes += __popc(m);
    if (LEARN) { const unsigned so_far = m & here.upto; const float when = __shfl_sync(ALL, out.t, last_of(so_far)); if (so_far) fed[n] = when; }
  }
  __syncwarp();
  if (here.lane == 31) {
    keep(here.control + DOT, dot);
    if (LEARN) keep(here.control + FEED, fed);
    here.control[CLOCK] = out.t;
    here.pass_on(DOTS, block, blocks);
  }
  return winner;
}

// ---------------------------------------------------------------------- a recording

__device__ __forceinline__ void clear(const Warp& here) {
  for (int i = here.lane; i < MAP; i += 32) here.map[i] = NEVER;
  if (here.member == 0)
    for (int i = here.lane; i < CONTROL; i += 32) { if (i < FEED || i >= CLOCK) here.control[i] = 0.f; else here.control[i] = NEVER; }
}

// The clock of the last layer's map starts again where what the map holds would come back as the future. This is rare.
__device__ __forceinline__ void wind_clock(const Warp& here, int* map, int length, int& base) {
  if (base <= RESET - length) return;
  if (GROUP > 1) group_barrier(here.group);
  for (int i = here.member * 32 + here.lane; i < LAST.entries; i += GROUP * 32) map[i] = -1;
  base = 0;
}

__device__ __forceinline__ void write_counts(const Args& a, int network, long long out, int lane, int votes) {
  if (lane < LAST_UNITS && votes) atomicAdd(a.votes + out * CLASSES + class_of(lane), votes);
  for (int s = 16; s; s >>= 1) votes += __shfl_xor_sync(ALL, votes, s);
  if (lane < 2 && votes) atomicAdd(a.kept + out * 2 + lane, votes);
  if (LEARN && lane == 0 && votes) atomicAdd(a.output + network, votes);
}

// The next recording of the batch, for all warps of the group.
__device__ __forceinline__ int next_recording(const Args& a, const Warp& here, int network, int taken) {
  int q = 0;
  if (GROUP == 1) { if (here.lane == 0) q = taken + atomicAdd(a.next + network, 1); return __shfl_sync(ALL, q, 0); }
  if (here.member == 0 && here.lane == 0) here.control[TAKEN] = __int_as_float(taken + atomicAdd(a.next + network, 1));
  group_barrier(here.group); q = __float_as_int(here.control[TAKEN]); group_barrier(here.group);
  return q;
}

__device__ __forceinline__ void run(const Args& a) {
  extern __shared__ float4 memory[];
  __shared__ Rates rates[2];
  __shared__ Barrier barriers[CHAINS][WARPS];
  Warp here(memory, barriers);
  constexpr int groups = WARPS / GROUP;
  const int lane = here.lane, network = blockIdx.y, batch = *a.batch, from = a.bounds[batch], to = a.bounds[batch + 1];
  start_chains(barriers);

  // The first recording is looked up early, so that its events arrive while the rest is made ready.
  const int slots = gridDim.x * groups, slot_here = blockIdx.x * groups + here.group;
  int q = from + slot_here;
  const long long at = (long long)network * a.recordings + min(q, a.recordings - 1), early = a.start[at];
  if (lane == 0) { fetch(a.stop + at); fetch(a.label + at); }
  if (threadIdx.x < 2) rates[threadIdx.x] = rates_now(a, network, threadIdx.x);
  split_centroids(a, network, here.parts);
  if (lane == 0) { fetch(a.t + early); fetch(a.t + early + here.member * 32); fetch(a.entry + early + here.member * 32); }
  __syncthreads();
  const float slope = slope_of(rates[0]);
  fill_shared(a, network, here, rates[0]);

  const long long slot = (long long)network * slots + slot_here;
  const Builder builder(here);
  const unsigned matrix_at = (unsigned)__cvta_generic_to_shared(here.ts + (((lane >> 3) & 1) * 8 + (lane & 7)) * STRIDE + (lane >> 4) * 4);
  const float fade = rates[0].fade, fade_last = rates[1].fade, feedback = rates[1].feedback;
  int* last_map = a.map + slot * LAST.entries;
  int base = a.base[slot];
  float2* gains = a.gain + slot * a.log_stride;
  unsigned* fired = a.fired + slot * a.log_stride;
  const float* c_last = a.layer[1].c + (long long)network * LAST.entries * ROW;
  Sum* dc_last = a.layer[1].dc + (long long)network * LAST.entries * ROW;
  float dth[NT * 2];                                // sums of this warp: of threshold steps,
  float sums[MT][KS][4];                            // and of gain x surface
  if (LEARN) {
    #pragma unroll
    for (int i = 0; i < NT * 2; i++) dth[i] = 0.f;
    #pragma unroll
    for (int i = 0; i < MT * KS * 4; i++) (&sums[0][0][0])[i] = 0.f;
  }

  while (q < to) {
    const Recording of(a, network, q);
    Ahead ahead;
    fetch_first(ahead, here, of);
    clear(here);
    wind_clock(here, last_map, of.length, base);
    __threadfence_block();
    group_barrier(here.group);
    int votes = 0, entry, time;
    if (!LEARN && here.member < of.blocks) build(here, builder, of, ahead, here.member, fade, entry, time);
    for (int block = here.member; block < of.blocks; block += GROUP) {
      const bool valid = block * 32 + lane < of.events;
      if (LEARN) { __syncwarp(); build(here, builder, of, ahead, block, fade, entry, time); }
      const int place = output_place<0>(entry / POLARITIES), now = time;
      float dist[2][NT][4], norm[4] = {0.f, 0.f, 0.f, 0.f}, best[4], square;
      int closest[4], f;
      multiply(here, matrix_at, dist, norm);
      to_distances(here, dist, norm, best, closest);
      closest_of(best, closest, lane, square, f);
      const float distance = sqrtf(fmaxf(square, 0.f));

      Output out;
      out.pass = valid && distance < here.th[f];
      out.e = place * UNITS + f; out.t = (float)now;
      float cs[ROW];
      #pragma unroll
      for (int i = 0; i < ROW / 4; i++) *(float4*)(cs + 4 * i) = __ldg((const float4*)(c_last + (long long)out.e * ROW) + i);
      const unsigned passing = __ballot_sync(ALL, out.pass);
      out.same = __match_any_sync(ALL, out.pass ? out.e : (1 << 30) | lane); out.earlier = out.same & here.before;
      int then = -1;
      out.clock = base + now;
      if (GROUP == 1) { if (out.pass && !out.earlier) then = last_map[out.e]; }
      else if (out.pass) fetch(last_map + out.e);   // only into the cache: the blocks before may still write it
      // While that is fetched: how near each distance is to its threshold, or the next surfaces.
      if (LEARN) to_nearness(here, dist, slope);
      else if (block + GROUP < of.blocks) { __syncwarp(); build(here, builder, of, ahead, block + GROUP, fade, entry, time); }
      then = last_time(here, out, last_map, then, block, of.blocks);
      const float w = out.pass ? added(then, base, out.clock, fade_last) : 0.f;
      float fed[ROW];
      const int winner = decide(here, out, cs, w, fade_last, block, of.blocks, fed, votes);
      if (!LEARN) { __syncwarp(); here.forward += block > 0; continue; }

      float others = 0.f, dS;
      #pragma unroll
      for (int n = 0; n < LAST_UNITS; n++) if (n != winner) others += ex2((fed[n] - out.t) * feedback);
      float S = separability(sign_of(of.label, winner), others * (1.f / others_of<LAST_UNITS>()));
      judge(here, of, block, passing, S, dS);
      here.forward += block > 0;
      if (!out.pass) S = dS = 0.f;                  // nothing is learned from it
      const Step step = step_of(rates[0], S, dS);
      const float gain_last = step_of(rates[1], S, dS).gain;
      if (valid) { gains[block * 32 + lane] = make_float2(gain_last, w); fired[block * 32 + lane] = (unsigned)out.e | ((unsigned)winner << ENTRY_BITS); }
      here.line[lane] = make_int2(f, (int)rounded(__float_as_uint(step.gain)));
      sum_thresholds(here, dist, closest, step, dth);
      __syncwarp();
      sum_surfaces(here, sums);
    }
    write_counts(a, network, of.out, lane, votes);
    base += of.length;
    if (LEARN) {
      __threadfence_block(); group_barrier(here.group);
      sum_backwards(a, here, of, gains, fired, dc_last, network, fade_last);
      if (DETERMINISTIC) { give(a, network, lane, sums); give_thresholds(a, network, lane, dth); }
    }
    q = next_recording(a, here, network, from + slots);
  }
  if (here.member == 0 && lane == 0) a.base[slot] = base;
  if (LEARN && !DETERMINISTIC) { give_thresholds(a, network, lane, dth); give_together(a, network, lane, sums, here.ts, here.own); }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, 1) blocks(const __grid_constant__ Args a) { run(a); }
