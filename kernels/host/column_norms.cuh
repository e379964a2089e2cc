/* Norms of columns. */
#pragma once

#include "column_sums.cuh"
#include "norms.cuh"

namespace KERNELS
{
namespace
{

/* Sums of squares, those of small and of large magnitudes scaled and apart: see struct blue. Of
 * a complex number each part's lane has both. */
template <class In, unsigned Parts = 1>
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
        const values_in_lanes<double> middle(all[0].totals);
        if constexpr (is_scaled) {
            const values_in_lanes<double> small(all[1].totals), large(all[2].totals);
            each_value<step, Parts>(n, [=, &small, &middle, &large](unsigned k) {
                to[k] = {small[Parts * k], middle[Parts * k], large[Parts * k]};
            });
        } else {
            each_value<step, Parts>(
                n, [=, &middle](unsigned k) { to[k] = {0, middle[Parts * k], 0}; });
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
            add(0, r, is_small | is_large ? none : square);
            add(1, r, is_small ? square : none);
            add(2, r, is_large ? square : none);
        } else {
            add(0, r, x * x);
        }
    }

    LANES_FUNCTION void add(unsigned size, unsigned r, vector<double> squares)
    {
        all[size].totals.at[r] += of_all_parts<Parts>(squares);
    }
};

} // namespace
} // namespace KERNELS
