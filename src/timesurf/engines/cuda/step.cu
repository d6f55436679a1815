// The arithmetic of the rule for one event, as timesurf.rule has it. Follows card.cu; used by every path.

// Units of the last layer vote for classes, so many next to each other for the same one.
constexpr int PER_CLASS = SHAPE[LAYERS - 1].per_class, CLASSES = SHAPE[LAYERS - 1].units / PER_CLASS;
__device__ __forceinline__ int class_of(int unit) { return unit / PER_CLASS; }

// G: +1 if the class of the unit that fired is right or there is no label, -1 if it is wrong.
__device__ __forceinline__ float sign_of(int label, int fired) { return label >= 0 && class_of(fired) != label ? -1.f : 1.f; }

// S = G (1 - mean of the other units' feedback); the mean is over that many others.
template <int units> constexpr __host__ __device__ float others_of() { return units > 1 ? units - 1 : 1; }
__device__ __forceinline__ float separability(float G, float mean) { return G * (1.f - mean); }

struct Step {
  float gain;                       // of the centroid that fired: alpha dS + beta S
  float push;                       // of its threshold: gamma dS + delta S
  float back;                       // of the thresholds of other units that the event would pass: -push if they compete, else 0
};

__device__ __forceinline__ Step step_of(const Rates& rates, float S, float dS) {
  const float push = rates.gamma * dS + rates.delta * S;
  const bool competes = (rates.flags & COMPETITION) && S >= -SLACK && dS >= -SLACK;
  return {rates.alpha * dS + rates.beta * S, push, competes ? -push : 0.f};
}

// near(th, distance) = exp2(distance slope + offset), for either kernel of the rule; 0 for a unit without threshold.
__device__ __forceinline__ float slope_of(const Rates& rates) { return rates.flags & CENTRE ? -rates.d : rates.d; }
__device__ __forceinline__ float offset_of(const Rates& rates, float th) {
  return isinf(th) ? __int_as_float(0xff800000) : rates.flags & CENTRE ? 0.f : -th * rates.d;
}
__device__ __forceinline__ float nearness(float distance, float slope, float offset) { return ex2(fmaf(distance, slope, offset)); }
