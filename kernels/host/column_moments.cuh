/* Variances of columns. */
#pragma once

#include "column_parts.cuh"
#include "spreads.cuh"

namespace KERNELS
{
namespace
{

struct moments_in_lanes {
    double count = 0;
    lanes<double> mean, squares;

    /* As moments merge, bit by bit. */
    LANES_FUNCTION void join(const moments_in_lanes &other)
    {
        const double all = count + other.count, share = other.count / all;
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const auto delta = other.mean.at[r] - mean.at[r];
            mean.at[r] += delta * share;
            squares.at[r] = squares.at[r] + other.squares.at[r] + delta * delta * (count * share);
        }
        count = all;
    }
};

template <class In>
struct column_moments : moments_in_lanes {
    using element = In;
    using joined = moments_in_lanes;
    static constexpr unsigned in_register = register_bytes / sizeof(double),
                              step = lanes_registers * in_register, abreast = 1;
    static constexpr bool is_tree = true;

    LANES_FUNCTION static void take(column_moments (&groups)[1], const part_of<In> &part)
    {
        groups[0].take(part);
    }

    template <class State>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        double means[step];
        memcpy(means, &mean, sizeof means);
        put_each<double>(squares, n, [=, &means](unsigned k, double deviation) {
            to[k] = {count, means[k], deviation};
        });
    }

  private:
    LANES_FUNCTION void take(const part_of<In> &part)
    {
        sum_lanes<In, double> sums;
        for (unsigned row = 0; row < part.rows; row++)
            sums.take(part[row]);
        count = part.rows;
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            mean.at[r] = sums.totals.at[r] / count;
            squares.at[r] = in_all(0.0);
        }
        for (unsigned row = 0; row < part.rows; row++)
            EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
            {
                const auto away = converted<double>(part[row] + r * in_register) - mean.at[r];
                squares.at[r] += away * away;
            }
    }
};

} // namespace
} // namespace KERNELS
