/* Logarithms of sums of exponentials of columns. */
#pragma once

#include "exponentials.cuh"
#include "slabs.cuh"

namespace KERNELS
{
namespace
{

/* The greatest of each column's elements, NaN if there is one, and the sum of exponentials. */
template <class In, class T>
struct column_exponentials : column_lanes<In, T> {
    using joined = column_exponentials;
    using column_lanes<In, T>::in_register, column_lanes<In, T>::step;
    static constexpr bool is_tree = true;
    lanes<T> most, sums;

    LANES_FUNCTION void take(const part_of<In> &part)
    {
        if (part.rows == 0)
            return;
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            vector<T> greatest = in_all(ends<T>::least), sum = {};
            for (unsigned row = 0; row < part.rows; row++)
                greatest = greater(greatest, converted<T>(part[row] + r * in_register));
            for (unsigned row = 0; row < part.rows; row++)
                sum += exponential<T>(converted<T>(part[row] + r * in_register), greatest);
            most.at[r] = greatest;
            sums.at[r] = sum;
        }
    }

    LANES_FUNCTION void join(const column_exponentials &other)
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const vector<T> greatest = greater(most.at[r], other.most.at[r]);
            sums.at[r] = sums.at[r] * exponential<T>(most.at[r], greatest) +
                         other.sums.at[r] * exponential<T>(other.most.at[r], greatest);
            most.at[r] = greatest;
        }
    }

    template <class State, unsigned>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        const values_in_lanes<T> greatest(most), total(sums);
        each_value<step>(n, [=, &greatest, &total](unsigned k) {
            to[k] = {double(greatest[k]), double(total[k])};
        });
    }

  private:
    LANES_FUNCTION static vector<T> greater(vector<T> a, vector<T> b)
    {
        return (a >= b) | (a != a) ? a : b;
    }
};

} // namespace
} // namespace KERNELS
