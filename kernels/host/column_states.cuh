/* Columns of values that registers have no lanes for, such as complex numbers: a state each, by the
 * one definition of the fold. There is a single part of them: more rows lie too far apart. */
#pragma once

#include "column_extremes.cuh"

namespace KERNELS
{
namespace
{

/* Folds to which any NaN is as good as none; of nothing else the first is the result. */
template <class Fold>
constexpr bool tells_first_nan =
    std::is_same_v<Fold, nanmin<value_of<Fold>>> || std::is_same_v<Fold, nanmax<value_of<Fold>>>;

/* A state that is made of values has no parts of its own here. */
template <class Fold>
struct made_state {
    state_of<Fold> state;
};

template <class Fold>
struct column_states {
    using element = value_of<Fold>;
    using joined = nothing_joined;
    static constexpr unsigned step = 8, abreast = 1;
    static constexpr bool is_tree = false;
    state_of<Fold> all[step];

    LANES_FUNCTION column_states()
    {
        for (unsigned k = 0; k < step; k++)
            all[k] = Fold::identity();
    }

    LANES_FUNCTION static void take(column_states (&groups)[1], const part_of<element> &part)
    {
        for (unsigned k = 0; k < step; k++)
            groups[0].all[k] = with_rows(groups[0].all[k], part, k);
    }

    template <class State>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        for (unsigned k = 0; k < n; k++)
            to[k].state = all[k];
    }

  private:
    /* Rows of a slab may begin anywhere. */
    LANES_FUNCTION static element at(const part_of<element> &part, unsigned row, unsigned lane)
    {
        element x;
        memcpy(&x, part[row] + lane, sizeof x);
        return x;
    }

    LANES_FUNCTION static state_of<Fold> with_rows(state_of<Fold> state,
                                                   const part_of<element> &part, unsigned lane)
    {
        for (unsigned row = 0; row < part.rows; row++)
            state = Fold::merge(state, Fold::lift(at(part, row, lane), part.index_of(row)));
        if constexpr (tells_first_nan<Fold>)
            return is_nan(state) ? at(part, 0, lane) : state;
        else
            return state;
    }
};

} // namespace
} // namespace KERNELS
