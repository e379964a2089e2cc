/* Variances of columns. */
#pragma once

#include "column_parts.cuh"
#include "spreads.cuh"

namespace KERNELS
{
namespace
{

/* Of a complex number each part's lane has the squares of both. */
template <unsigned Parts>
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
            squares.at[r] = squares.at[r] + other.squares.at[r] +
                            of_all_parts<Parts>(delta * delta) * (count * share);
        }
        count = all;
    }
};

template <class In, unsigned Parts = 1>
struct column_moments : moments_in_lanes<Parts> {
    using element = In;
    using joined = moments_in_lanes<Parts>;
    using joined::count, joined::mean, joined::squares;
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
        const values_in_lanes<decltype(to->mean)> means(mean);
        const values_in_lanes<double> deviations(squares);
        each_value<step, Parts>(n, [=, &means, &deviations](unsigned k) {
            to[k] = {count, means[k], deviations[Parts * k]};
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
                squares.at[r] += of_all_parts<Parts>(away * away);
            }
    }
};

} // namespace
} // namespace KERNELS
