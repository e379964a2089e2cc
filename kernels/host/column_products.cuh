/* Products of columns of complex numbers, their parts in neighbouring lanes. */
#pragma once

#include "column_parts.cuh"

namespace KERNELS
{
namespace
{

template <class T>
struct column_products {
    using element = T;
    using joined = column_products;
    static constexpr unsigned in_register = register_bytes / sizeof(T),
                              step = lanes_registers * in_register, abreast = 1;
    static constexpr bool is_tree = true;
    lanes<T> all;

    /* Rows that have no part before them: that is what a tree's leaves are. NumPy multiplies the
     * first of all with one. */
    LANES_FUNCTION static void take(column_products (&groups)[1], const part_of<T> &part)
    {
        constexpr auto pairs = std::make_index_sequence<in_register>();
        lanes<T> &all = groups[0].all;
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const auto first = loaded<vector<T>>(part[0] + r * in_register);
            all.at[r] = part.index_of(0) ? first : product(real_ones(pairs), first);
        }
        for (unsigned row = 1; row < part.rows; row++)
            EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        all.at[r] = product(all.at[r], loaded<vector<T>>(part[row] + r * in_register));
    }

    LANES_FUNCTION void join(const column_products &other)
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        all.at[r] = product(all.at[r], other.all.at[r]);
    }

    template <class State>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        const values_in_lanes<State> products(all);
        each_value<step, 2>(n, [=, &products](unsigned k) { to[k] = products[k]; });
    }

  private:
    template <size_t... Lanes>
    LANES_FUNCTION static vector<T> real_ones(std::index_sequence<Lanes...>)
    {
        return vector<T>{T(Lanes % 2 == 0)...};
    }

    /* Real parts are differences: in these lanes the other product's sign is the other one. */
    template <size_t... Lanes>
    LANES_FUNCTION static vector<T> product(vector<T> a, vector<T> b, std::index_sequence<Lanes...>)
    {
        using bits = bits_of<sizeof(T)>;
        constexpr auto all = std::index_sequence<Lanes...>();
        const vector<T> real = chosen(a, a, std::index_sequence<(Lanes & ~size_t(1))...>()),
                        imag = chosen(a, a, std::index_sequence<(Lanes | 1)...>()),
                        across = imag * neighbours(b, all);
        const vector<bits> sign = {bits(bits(Lanes % 2 == 0) << (8 * sizeof(T) - 1))...};
        return real * b + vector<T>(vector<bits>(across) ^ sign);
    }

    LANES_FUNCTION static vector<T> product(vector<T> a, vector<T> b)
    {
        return product(a, b, std::make_index_sequence<in_register>());
    }
};

} // namespace
} // namespace KERNELS
