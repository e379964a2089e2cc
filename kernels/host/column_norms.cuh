/* Norms of columns. */
#pragma once

#include "column_sums.cuh"
#include "norms.cuh"

namespace KERNELS
{
namespace
{

/* Sums of squares, those of small and of large magnitudes scaled and apart: see struct blue. */
template <class In>
struct column_squares {
    using element = In;
    using joined = column_squares;
    using sums = sum_lanes<In, double>;
    static constexpr unsigned step = sums::step, abreast = 1;
    static constexpr bool is_tree = true, is_scaled = std::is_same_v<In, double>;
    sums all[is_scaled ? 3 : 1]; /* in the middle, small and large ones */

    LANES_FUNCTION static void take(column_squares (&groups)[1], const part_of<In> &part)
    {
        for (unsigned row = 0; row < part.rows; row++)
            EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        groups[0].take(r, converted<double>(part[row] + r * sums::in_register));
    }

    LANES_FUNCTION void join(const column_squares &other)
    {
        for (unsigned size = 0; size < sizeof all / sizeof all[0]; size++)
            all[size].join(other.all[size]);
    }

    template <class State>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        if constexpr (is_scaled) {
            double small[step], large[step];
            memcpy(small, &all[1].totals, sizeof small);
            memcpy(large, &all[2].totals, sizeof large);
            put_each<double>(all[0].totals, n, [=, &small, &large](unsigned k, double middle) {
                to[k] = {small[k], middle, large[k]};
            });
        } else {
            put_each<double>(all[0].totals, n,
                             [=](unsigned k, double middle) { to[k] = {0, middle, 0}; });
        }
    }

  private:
    LANES_FUNCTION void take(unsigned r, vector<double> x)
    {
        if constexpr (is_scaled) {
            const vector<double> size = without_sign(x), none = {}, one = in_all(1.0),
                                 up = in_all(blue::times_small), down = in_all(blue::times_large);
            const auto is_small = size < blue::small;
            const auto is_large = size > blue::large;
            const vector<double> not_large = is_small ? up : one,
                                 scaled = size * (is_large ? down : not_large),
                                 square = scaled * scaled;
            all[0].totals.at[r] += is_small | is_large ? none : square;
            all[1].totals.at[r] += is_small ? square : none;
            all[2].totals.at[r] += is_large ? square : none;
        } else {
            all[0].totals.at[r] += x * x;
        }
    }
};

} // namespace
} // namespace KERNELS
