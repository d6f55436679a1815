// Recordings at other places: each moved by its own distance, and places pooled. One block of threads per recording.
// The host writes before this: DIMENSIONS, UNITS, sizes of the field as FIELD, pixels per place as STRIDE.

extern "C" __global__ void moved(
    const int* entry,            // of all events: entry of the field
    const long long* start,      // of recordings: first event
    const long long* stop,       // of recordings: behind the last event
    const int* by,               // [recording][dimension] pixels
    int* out                     // of all events: entry of the pooled field
) {
    constexpr int field[DIMENSIONS] = FIELD, stride[DIMENSIONS] = STRIDE;
    const long long r = blockIdx.x;
    for (long long k = start[r] + threadIdx.x; k < stop[r]; k += blockDim.x) {
        int rest = entry[k] / UNITS, place = 0, below = 1;
#pragma unroll
        for (int d = DIMENSIONS - 1; d >= 0; --d) {
            const int x = rest % field[d] + by[r * DIMENSIONS + d];
            place += below * (min(max(x, 0), field[d] - 1) / stride[d]);  // what would leave stays at the edge
            below *= (field[d] + stride[d] - 1) / stride[d];
            rest /= field[d];
        }
        out[k] = place * UNITS + entry[k] % UNITS;
    }
}
