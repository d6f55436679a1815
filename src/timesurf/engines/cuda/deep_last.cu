// The Full layer on the path layer by layer: what fires, S and dS of every layer, and the sums of this one. Follows deep.cu.

// What a hidden layer remembers of a recording, on the map of the warp: {value, clock} of every output place. Behind the last layer's own map.
template <int k> constexpr __host__ __device__ int places_before() {   // output places of the upper hidden layers below this one
  if constexpr (k <= 1) return 0;
  else return places_before<k - 1>() + output_places(SHAPE[k - 1]);
}
template <int k> __device__ __forceinline__ int2* sums_at(int* map) { return (int2*)(map + (LAST.entries + 1) / 2 * 2) + 2 * places_before<k>(); }
template <int k> __device__ __forceinline__ int2* previous_at(int* map) { return sums_at<k>(map) + output_places(SHAPE[k]); }
template <int k> __device__ __forceinline__ int* outputs_at(int* map) {    // last times of its units, of layers but the one below the last
  if constexpr (k == 1) return (int*)sums_at<TOP>(map);
  else return outputs_at<k - 1>(map) + output_places(SHAPE[k - 1]) * SHAPE[k - 1].units;
}

// ---------------------------------------------------------------------- S and dS of hidden layers

// S of a hidden layer without its sign: 1 - mean of the other units' feedback at the place. Their sum is remembered, and decays.
template <int k>
__device__ __forceinline__ float apart(int* map, const Lane& l, int then, float feedback) {
  const int place = l.e / SHAPE[k].units;
  const unsigned same = l.same(place), earlier = same & l.before;
  const int rank = __popc(earlier), previous = last_of(earlier);
  int2* sums = sums_at<k>(map);
  float sum = 0.f;
  if (l.valid && !rank) { const int2 old = sums[place]; if (old.y >= l.base) sum = __int_as_float(old.x) * ex2((float)(old.y - l.clock) * feedback); }
  const float fresh = added(then, l.base, l.clock, feedback);
  const float decay = ex2((float)(__shfl_sync(ALL, l.clock, previous) - l.clock) * feedback);
  if (!rank) sum += fresh;
  for (int r = 1; __any_sync(ALL, rank >= r); r++) {   // events at one place, one after another
    const float below = __shfl_sync(ALL, sum, previous);
    if (rank == r) sum = fmaf(below, decay, fresh);
  }
  if (l.valid && !(same & ~l.upto)) sums[place] = make_int2(__float_as_int(sum), l.clock);
  return separability(1.f, (sum - 1.f) / others_of<SHAPE[k].units>());
}

struct Recording {
  long long out, at;                                // its number among those of all networks; where its events are written
  int q, label, events, length;                     // length: us
  const int *entries, *times;
  unsigned began;                                   // clocks may wrap: only differences count
  const int2* list; const int* listed;              // events that reach the last layer
  __device__ __forceinline__ Recording(const Args& a, const Work& work, int number) {
    q = number;
    out = (long long)work.network * a.recordings + q;
    const long long first = a.start[out];
    label = a.label[out]; events = (int)(a.stop[out] - first);
    entries = a.entry + first; times = a.t + first;
    began = events ? times[0] : 0;
    length = events ? (int)((unsigned)times[events - 1] - began) + 1 : 0;
    at = work.slot(a, q) * a.log_stride;
    list = work.list(a, TOP, q);
    listed = work.listed(a, TOP, q);
  }
};

// Hidden layers under the topmost hidden one, whose outputs the last layer does not see: what is apart in them.
template <int k>
__device__ __forceinline__ void apart_below(const Args& a, const Work& work, const Recording& of, int* map, Lane l, int lane) {
  if constexpr (k < TOP - 1) {
    const float feedback = rates_now(a, work.network, k).feedback;
    const int2* list = work.list(a, k + 1, of.q);
    const int* listed = work.listed(a, k + 1, of.q);
    float* found = a.apart + (k - 1) * work.plane + work.slot(a, of.q) * a.log_stride;
    for (int segment = 0; segment * a.segment < of.events; segment++)
      for (int m = 0; m < listed[segment]; m += 32) {
        const int2 now = list[segment * a.segment + min(m + lane, listed[segment] - 1)];
        l.e = now.y; l.valid = m + lane < listed[segment]; l.clock = l.base + (int)((unsigned)of.times[now.x] - of.began);
        const float value = apart<k>(map, l, last_time(outputs_at<k>(map), l), feedback);
        if (l.valid) found[now.x] = value;
        __syncwarp();
      }
    apart_below<k + 1>(a, work, of, map, l, lane);
  }
}

// Whether the hidden layers above this one keep places.
template <int k>
constexpr __host__ __device__ bool kept_above() {
  if constexpr (k + 1 >= TOP) return true;
  else return keeps_places<k + 1>() && kept_above<k + 1>();
}

// Output place of a layer, from the place of the input event.
template <int k>
__device__ __forceinline__ int place_after(int place) {
  if constexpr (k > 0) place = place_after<k - 1>(place);
  return output_place<k>(place);
}

// S and dS of the hidden layers, for the events that came through all of them.
template <int k>
__device__ __forceinline__ void judge(const Args& a, const Work& work, const Recording& of, int* map, const Lane& l, int number, float top, float sign) {
  if constexpr (k < TOP) {
    const long long at = of.at;
    int place = l.e / SHAPE[TOP - 1].units;
    if constexpr (!kept_above<k>()) place = place_after<k>(of.entries[number] / SHAPE[0].polarities);
    const unsigned same = l.same(place), earlier = same & l.before;
    const float S = sign * (k == TOP - 1 ? top : l.valid ? a.apart[(k - 1) * work.plane + at + number] : 0.f);
    int2* previous = previous_at<k>(map);
    float old = __shfl_sync(ALL, S, last_of(earlier));
    if (!earlier) { old = 0.f; if (l.valid) { const int2 then = previous[place]; if (then.y >= l.base) old = __int_as_float(then.x); } }
    __syncwarp();
    if (l.valid) {
      if (!(same & ~l.upto)) previous[place] = make_int2(__float_as_int(S), l.clock);
      a.judged[(k - 1) * work.plane + at + number] = make_float2(S, S - old);
    }
    judge<k + 1>(a, work, of, map, l, number, top, sign);
  }
}

// ---------------------------------------------------------------------- the last layer

struct Carry { float dot[ROW], fed[ROW], t, S; };   // what goes from block to block: dot products, when units fired last, time, S

// Dot products of all units by a scan, and the unit that fires.
__device__ __forceinline__ int decide(const float (&cs)[ROW], const float (&cc)[LAST_UNITS], float w, float t, float fade, Carry& carry, int lane) {
  float dot[ROW];
  #pragma unroll
  for (int n = 0; n < ROW; n++) dot[n] = w * cs[n];
  scan<LAST_UNITS>(dot, t, fade, lane);
  const float decay = ex2((carry.t - t) * fade);
  int winner = 0; float least = 1e38f;
  #pragma unroll
  for (int n = 0; n < LAST_UNITS; n++) {
    dot[n] = fmaf(decay, carry.dot[n], dot[n]);
    const float d = fmaf(-2.f, dot[n], cc[n]);
    if (d < least) { least = d; winner = n; }
    carry.dot[n] = __shfl_sync(ALL, dot[n], 31);
  }
  carry.t = __shfl_sync(ALL, t, 31);
  return winner;
}

// Votes; returned: the sum of the other units' feedback.
__device__ __forceinline__ float feedback_of(const Lane& l, int winner, float t, float feedback, Carry& carry, int& votes, int lane) {
  float others = 0.f;
  #pragma unroll
  for (int n = 0; n < LAST_UNITS; n++) {
    const unsigned winning = __ballot_sync(ALL, l.valid && winner == n);
    if (lane == n) votes += __popc(winning);
    if (LEARN) {
      const unsigned so_far = winning & l.upto;
      const float when = __shfl_sync(ALL, t, last_of(so_far)), fed = so_far ? when : carry.fed[n];
      if (n != winner) others += ex2((fed - t) * feedback);
      carry.fed[n] = __shfl_sync(ALL, fed, 31);
    }
  }
  return others;
}

// Sums of the layer over a recording, from the last event to the first.
__device__ __forceinline__ void sum_backwards(const Args& a, const Recording& of, const float4* log, Sum* dc, Sum* dg, Carry& carry, float fade, int lane) {
  float total_gain[LAST_UNITS];
  #pragma unroll
  for (int n = 0; n < LAST_UNITS; n++) total_gain[n] = carry.dot[n] = 0.f;
  for (int segment = (of.events + a.segment - 1) / a.segment - 1; segment >= 0; segment--) {
    const int count = of.listed[segment], begin = segment * a.segment;
    int m = (count - 1) / 32 * 32;
    float4 ahead = make_float4(0.f, 0.f, 0.f, 0.f);
    if (count) ahead = log[begin + min(m + lane, count - 1)];
    for (; m >= 0 && count; m -= 32) {
      const float4 now = ahead;
      const bool valid = m + lane < count;
      const int e = __float_as_int(now.x) & ENTRY_MASK, winner = (unsigned)__float_as_int(now.x) >> ENTRY_BITS;
      const float t = now.w, g = valid ? now.z : 0.f, w = valid ? now.y : 0.f;
      ahead = log[begin + min(max(m - 32, 0) + lane, count - 1)];   // fetched for the next step
      float R[ROW];
      #pragma unroll
      for (int n = 0; n < ROW; n++) R[n] = 0.f;
      #pragma unroll
      for (int n = 0; n < LAST_UNITS; n++) { R[n] = winner == n ? g : 0.f; total_gain[n] += R[n]; }
      scan_back<LAST_UNITS>(R, t, fade, lane);
      const float decay = ex2((t - carry.t) * fade);
      #pragma unroll
      for (int n = 0; n < LAST_UNITS; n++) { R[n] = fmaf(decay, carry.dot[n], R[n]); carry.dot[n] = __shfl_sync(ALL, R[n], 0); }
      carry.t = __shfl_sync(ALL, t, 0);
      give_entry(dc + (long long)e * ROW, R, w);
    }
  }
  give_gains(dg, total_gain, lane);
}

// All events of a recording that reach the layer; returned: how often the unit of this lane fired.
__device__ __forceinline__ int run_events(const Args& a, const Work& work, const Recording& of, const Rates& rates, float feedback_below, const float* c, const float (&cc)[LAST_UNITS], int* map, float4* log, Lane& l, Carry& carry, int lane) {
  int votes = 0;
  for (int begin = 0, segment = 0; begin < of.events; begin += a.segment, segment++) {
    const int count = of.listed[segment];
    int2 ahead = count ? of.list[begin + min(lane, count - 1)] : make_int2(0, 0);
    int t_ahead = of.times[ahead.x];
    for (int m = 0; m < count; m += 32) {
      const int2 now = ahead;
      const int e = now.y, since = (int)((unsigned)t_ahead - of.began);
      const float t = (float)since;
      l.e = e; l.valid = m + lane < count; l.clock = l.base + since;
      float cs[ROW];
      #pragma unroll
      for (int i = 0; i < ROW / 4; i++) *(float4*)(cs + 4 * i) = __ldg((const float4*)(c + (long long)e * ROW) + i);
      ahead = of.list[begin + min(m + 32 + lane, count - 1)];   // fetched for the next step
      const int then = last_time(map, l);
      const float w = l.valid ? added(then, l.base, l.clock, rates.fade) : 0.f;
      const int winner = decide(cs, cc, w, t, rates.fade, carry, lane);
      t_ahead = of.times[ahead.x];
      const float others = feedback_of(l, winner, t, rates.feedback, carry, votes, lane);
      if (LEARN) {
        const float sign = sign_of(of.label, winner), S = separability(sign, others * (1.f / others_of<LAST_UNITS>()));
        float S_before = __shfl_up_sync(ALL, S, 1);
        if (lane == 0) S_before = carry.S;
        carry.S = __shfl_sync(ALL, S, min(31, count - m - 1));
        const float dS = S - S_before;
        if (l.valid) {
          log[begin + m + lane] = make_float4(__int_as_float(e | winner << ENTRY_BITS), w, step_of(rates, S, dS).gain, t);
          a.judged[(TOP - 1) * work.plane + of.at + now.x] = make_float2(S, dS);
        }
        if constexpr (TOP > 1) judge<1>(a, work, of, map, l, now.x, apart<TOP - 1>(map, l, then, feedback_below), sign);
      }
      __syncwarp();
    }
  }
  return votes;
}

__device__ __forceinline__ void last_layer(const Args& a, int chunk) {
  const int lane = threadIdx.x & 31;
  const Work work(a, chunk);
  if (work.from >= work.to) return;
  const int network = work.network;
  const Rates rates = rates_now(a, network, TOP);
  const float feedback_below = rates_now(a, network, TOP - 1).feedback;
  const long long own = ((long long)network * gridDim.x + blockIdx.x) * LAST_WARPS + (threadIdx.x >> 5);
  int* map = a.map + own * LAST_MAP;
  const float* c = a.layer[TOP].c + (long long)network * LAST.entries * ROW;
  Sum* dc = a.layer[TOP].dc + (long long)network * LAST.entries * ROW;
  float cc[LAST_UNITS];
  #pragma unroll
  for (int n = 0; n < LAST_UNITS; n++) cc[n] = a.layer[TOP].cc[network * LAST_UNITS + n];
  Lane l; l.base = a.base[own]; l.upto = ALL >> (31 - lane); l.before = l.upto >> 1;

  while (true) {
    int q = 0;
    if (lane == 0) q = work.from + atomicAdd(a.next + TOP * a.networks + network, 1);
    q = __shfl_sync(ALL, q, 0);
    if (q >= work.to) break;
    const Recording of(a, work, q);
    float4* log = a.log + of.at;                    // entry and unit, w, gain, time
    if (l.base > RESET - of.length) {               // rare: what the map holds would come back as the future
      for (int i = lane; i < LAST_MAP; i += 32) map[i] = -1;
      l.base = 0;
      __syncwarp();
    }
    if (LEARN) apart_below<1>(a, work, of, map, l, lane);
    Carry carry;
    carry.t = carry.S = 0.f;
    #pragma unroll
    for (int n = 0; n < ROW; n++) { carry.dot[n] = 0.f; carry.fed[n] = NEVER; }
    int votes = run_events(a, work, of, rates, feedback_below, c, cc, map, log, l, carry, lane);
    if (lane < LAST_UNITS && votes) atomicAdd(a.votes + of.out * CLASSES + class_of(lane), votes);
    for (int s = 16; s; s >>= 1) votes += __shfl_xor_sync(ALL, votes, s);
    if (lane == 0) { a.kept[of.out * LAYERS + TOP] = votes; if (LEARN && votes) atomicAdd(a.output + network, votes); }
    l.base += of.length;
    if (LEARN) sum_backwards(a, of, log, dc, a.layer[TOP].dg + network * LAST_UNITS, carry, rates.fade, lane);
  }
  if (lane == 0) a.base[own] = l.base;
}
