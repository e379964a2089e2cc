/* Many results at once, a lane for each: what lanes take is a row of one element of every result.
 * The lanes are those of the loops over one array's elements, which merge nothing across lanes
 * here.
 *
 * A few rows are taken in a register's lanes before these are put away; of floats that are added,
 * what was put away merges as a tree.
 *
 * Way has
 *
 *     using element = ...;
 *     static constexpr unsigned step = ...;      columns of a group
 *     static constexpr unsigned abreast = ...;   groups that are taken side by side
 *     static constexpr bool is_tree = ...;
 *     static void take(Way (&)[N], const part_of<element> &);   rows, of 1 group or `abreast`
 *     void join(const Way &);                    of the rows behind
 *
 *     using joined = ...;                        what does that, itself or what it is made of
 *
 * and, compiled once for all states that are made of it,
 *
 *     template <class State> void put(State *, unsigned n, const places &) const;
 */
#pragma once

#include "counts.cuh"
#include "extremes.cuh"
#include "spreads.cuh"
#include "sums.cuh"

#include "common/slab.h"

namespace KERNELS
{
namespace
{

/* Groups that have registers enough for what they take at once: so more of a row is read before the
 * next one is, which may lie where a cache has no room beside it. */
constexpr unsigned groups_abreast = register_bytes == 64 ? 4 : 1;

template <class Way, size_t N>
struct groups_of {
    Way at[N];
};

template <class Way, size_t... Groups>
LANES_FUNCTION groups_of<Way, sizeof...(Groups)> fresh_groups(std::index_sequence<Groups...>)
{
    return {{(void(Groups), Way())...}};
}

/* So many that have taken nothing, each by itself: a loop would make them in memory. */
template <class Way, size_t N>
LANES_FUNCTION groups_of<Way, N> fresh()
{
    return fresh_groups<Way>(std::make_index_sequence<N>());
}

/* Rows that are added one after the other. */
constexpr unsigned rows_in_a_row = SLAB_PART_ROWS / 2;

struct column_part {
    const char *at;
    int64_t stride;
    unsigned rows, first; /* the latter's number in its slab */
    size_t ahead;         /* as struct slab has it */
};

template <class In>
struct part_of : column_part {
    LANES_FUNCTION const In *operator[](unsigned row) const
    {
        return reinterpret_cast<const In *>(at + int64_t(row) * stride);
    }
};

/* Which rows of its results a group's lanes have taken. */
struct places {
    const struct slab *slab;
    uint64_t first;  /* the slab's first row */
    unsigned column; /* the group's first */

    LANES_FUNCTION uint64_t of(uint64_t row, unsigned lane) const
    {
        if (slab->folded == 1)
            return slab->before + first + row;
        const unsigned columns = unsigned(slab->columns / slab->folded);
        return slab->before + (first + row) * slab->folded + (column + lane) / columns;
    }
};

/* Puts the first n lanes' values where they belong. */
template <class T, class Put>
LANES_FUNCTION void put_each(const lanes<T> &from, unsigned n, Put put)
{
    constexpr unsigned all = lanes_bytes / sizeof(T);
    T values[all];
    memcpy(values, &from, sizeof values);
    if (n == all)
        for (unsigned k = 0; k < all; k++)
            put(k, values[k]);
    else
        for (unsigned k = 0; k < n; k++)
            put(k, values[k]);
}

/* ---- sums ---- */

/* A count, as a float. */
LANES_FUNCTION bool is_power_of_2(double count)
{
    const uint64_t n = uint64_t(count);
    return (n & (n - 1)) == 0;
}

/* Whether elements are true. */
struct truths {
    static constexpr unsigned elements = 1;

    template <class T, class In>
    LANES_FUNCTION static vector<T> of(const In *x)
    {
        using bits = typename telling<In>::type;
        const auto set = loaded<narrow_vector<T, bits>>(x) & telling<In>::bits;
        using flags = std::make_signed_t<bits>;
        return -as<T>(narrow_vector<T, flags>(set != 0));
    }
};

/* Integers, within the bits that a slab's rows need, are told apart by their signs. */
template <class In>
using room_for = std::conditional_t<
    sizeof(In) <= 2, int32_t,
    std::conditional_t<std::is_same_v<In, uint32_t> || std::is_same_v<In, uint64_t>, uint64_t,
                       int64_t>>;

/* Or products. */
template <class In, class T, class Of = as_they_are, template <class> class Fold = sum>
struct column_sums {
    using element = In;
    using sums = sum_lanes<In, T, Fold, Of>;
    using joined = sum_lanes<T, T, Fold>;
    static constexpr unsigned step = sums::step, abreast = groups_abreast;
    static constexpr bool is_tree = !std::is_integral_v<T>;
    sums all;

    template <unsigned N>
    LANES_FUNCTION static void take(column_sums (&groups)[N], const part_of<In> &part)
    {
        const unsigned half = part.rows > rows_in_a_row ? (part.rows + 1) / 2 : part.rows;
        take_rows(groups, part, 0, half);
        if (half < part.rows) {
            auto others = fresh<column_sums, N>();
            take_rows(others.at, part, half, part.rows);
            EACH_REGISTER(unsigned g = 0; g < N; g++)
            groups[g].all.join(others.at[g].all);
        }
    }

    /* Of a complex number each part is a total. */
    template <class State>
    LANES_FUNCTION void put(State *to, unsigned n, const places &at) const
    {
        const T zero = at.slab->finishes ? T(0) : sum<T>::identity();
        if constexpr (std::is_floating_point_v<State>)
            if (at.slab->divisor != 0)
                return put_divided(to, n, zero, at.slab->divisor);
        put_each<T>(all.totals, n, [=](unsigned k, T total) {
            if constexpr (parts_of<State>::count > 1)
                reinterpret_cast<T *>(to)[k] = total;
            else
                to[k] = State(total + zero);
        });
    }

  private:
    template <unsigned N>
    LANES_FUNCTION static void take_rows(column_sums (&groups)[N], const part_of<In> &part,
                                         unsigned from, unsigned to)
    {
        for (unsigned row = from; row < to; row++)
            EACH_REGISTER(unsigned g = 0; g < N; g++)
        groups[g].all.take(part[row] + g * step);
    }

    /* Rounded once, as NumPy does: a slab's rows are few enough for any float to hold their number,
     * and a power of two may be multiplied by instead. */
    template <class State>
    LANES_FUNCTION void put_divided(State *to, unsigned n, T zero, double divisor) const
    {
        const State by = State(divisor), inverse = State(1) / by;
        if (is_power_of_2(divisor))
            put_each<T>(all.totals, n,
                        [=](unsigned k, T total) { to[k] = State(total + zero) * inverse; });
        else
            put_each<T>(all.totals, n,
                        [=](unsigned k, T total) { to[k] = State(total + zero) / by; });
    }
};

/* ---- extremes ---- */

/* Keys in whose order NaN wins, too: of halves it is the best key, and of floats it is chosen. */
template <class In, class Order>
struct winning {
    using keys = key_of<In>;
    using K = key<In>;
    static constexpr bool nan_is_chosen = keys::has_nan && keys::nan_loses,
                          nan_is_best = keys::has_nan && !keys::nan_loses;
    static constexpr K best_of_all =
        Order::template worst<K> == ends<K>::least ? ends<K>::greatest : ends<K>::least;

    LANES_FUNCTION static vector<K> of(const In *x)
    {
        const vector<K> key = keys::of(loaded<vector<K>>(x));
        if constexpr (nan_is_best)
            return keys::nan(key) ? in_all(best_of_all) : key;
        else
            return key;
    }

    LANES_FUNCTION static auto better(vector<K> x, vector<K> best)
    {
        return Order::better(keys::rank(x), keys::rank(best));
    }

    LANES_FUNCTION static vector<K> best(vector<K> x, vector<K> best)
    {
        if constexpr (nan_is_best)
            return better(x, best) ? x : best;
        else
            return Order()(x, best);
    }

    template <class V>
    LANES_FUNCTION static V value(K key)
    {
        return V(keys::element(nan_is_best && key == best_of_all ? ends<K>::greatest : key));
    }
};

/* What no tree is made of. */
struct nothing_joined {
    LANES_FUNCTION void join(const nothing_joined &) {}
};

/* The first of equals. */
template <class In, class Order>
struct column_extremes {
    using element = In;
    using keys = winning<In, Order>;
    using K = key<In>;
    static constexpr unsigned in_register = register_bytes / sizeof(In),
                              step = lanes_registers * in_register, abreast = groups_abreast;
    using joined = nothing_joined;
    static constexpr bool is_tree = false;
    best_lanes<In, Order> all;

    /* What comparisons make of NaN is put right at the end: until then a row waits for nothing but
     * one comparison with the row before. */
    template <unsigned N>
    LANES_FUNCTION static void take(column_extremes (&groups)[N], const part_of<In> &part)
    {
        lanes<K> best[N], nans[N];
        EACH_REGISTER(unsigned g = 0; g < N; g++)
        best[g] = nans[g] = groups[g].all.best;
        for (unsigned row = 0; row < part.rows; row++)
            EACH_REGISTER(unsigned g = 0; g < N; g++)
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const auto x = keys::of(part[row] + g * step + r * in_register);
            best[g].at[r] = keys::best(x, best[g].at[r]);
            if constexpr (keys::nan_is_chosen)
                nans[g].at[r] = key_of<In>::nan(x) ? x : nans[g].at[r];
        }
        EACH_REGISTER(unsigned g = 0; g < N; g++)
        {
            if constexpr (keys::nan_is_chosen)
                EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
            best[g].at[r] = key_of<In>::nan(nans[g].at[r]) ? nans[g].at[r] : best[g].at[r];
            groups[g].all.best = best[g];
        }
    }

    template <class State>
    LANES_FUNCTION void put(State *to, unsigned n, const places &) const
    {
        put_each<K>(all.best, n,
                    [=](unsigned k, K best) { to[k] = keys::template value<State>(best); });
    }
};

/* Positions have as many bits as elements. */
template <class In, class Order>
struct column_positions {
    using element = In;
    using keys = winning<In, Order>;
    using K = key<In>;
    using position = bits_of<sizeof(In)>;
    static constexpr unsigned in_register = register_bytes / sizeof(In),
                              step = lanes_registers * in_register, abreast = 1;
    using joined = nothing_joined;
    static constexpr bool is_tree = false;
    best_lanes<In, Order> all;
    lanes<position> where = {};

    LANES_FUNCTION static void take(column_positions (&groups)[1], const part_of<In> &part)
    {
        groups[0].take(part);
    }

    template <class State>
    LANES_FUNCTION void put(State *to, unsigned n, const places &at) const
    {
        position rows[step];
        memcpy(rows, &where, sizeof rows);
        put_each<K>(all.best, n, [=, &rows, &at](unsigned k, K best) {
            to[k] = State::of(keys::template value<decltype(to->value)>(best), at.of(rows[k], k));
        });
    }

  private:
    /* There is hardly ever a NaN, and where there is one, a part is taken once more. */
    LANES_FUNCTION void take(const part_of<In> &part)
    {
        if constexpr (keys::nan_is_chosen) {
            column_positions numbers = *this;
            if (!numbers.template take_rows<false>(part)) {
                *this = numbers;
                return;
            }
        }
        take_rows<keys::nan_is_chosen>(part);
    }

    /* Whether there was a NaN. */
    template <bool WithNan>
    LANES_FUNCTION bool take_rows(const part_of<In> &part)
    {
        lanes<K> best = all.best;
        lanes<position> found = where;
        decltype(vector<K>{} < vector<K>{}) nans = {};
        for (unsigned row = 0; row < part.rows; row++) {
            const vector<position> here = in_all(position(part.first + row));
            EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
            {
                const auto x = keys::of(part[row] + r * in_register);
                auto better = keys::better(x, best.at[r]);
                if constexpr (WithNan)
                    better |= key_of<In>::nan(x) & ~key_of<In>::nan(best.at[r]);
                else if constexpr (keys::nan_is_chosen)
                    nans |= key_of<In>::nan(x);
                best.at[r] = WithNan ? (better ? x : best.at[r]) : keys::best(x, best.at[r]);
                found.at[r] = better ? here : found.at[r];
            }
        }
        all.best = best;
        where = found;
        return is_any(nans);
    }
};

/* ---- variances ---- */

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

/* ---- a slab ---- */

/* A way's functions, of so many groups that lie side by side. */
struct column_way {
    size_t bytes, element; /* of a group's lanes, and of an element */
    unsigned step;
    bool is_tree;
    /* `anew`: what lanes hold so far is nothing. */
    void (*take)(void *lanes, const struct column_part *, unsigned groups, bool anew);
    void (*join)(void *lanes, const void *others);
    void (*put)(const void *lanes, void *states, unsigned n, const struct places *);
    /* All of that, of a single part; n columns of each group. */
    void (*make)(const struct column_part *, unsigned groups, void *states, unsigned n,
                 const struct places *);
};

constexpr unsigned tree_levels = 8;
constexpr size_t cache_line = 64;
static_assert(SLAB_PARTS <= 1 << (tree_levels - 1), "a slab's parts need more levels");

/* One slab, and where its states go. */
struct slab_of_columns {
    const struct slab *slab;
    const column_way *way;
    unsigned columns, lead, groups; /* the second: the first group's */
    alignas(64) char filled[SLAB_PART_ROWS * lanes_bytes];

    char *group_at(char *level, unsigned group) const
    {
        return level + group * way->bytes;
    }

    unsigned column_of(unsigned group) const
    {
        return group ? lead + (group - 1) * way->step : 0;
    }

    unsigned columns_of(unsigned group) const
    {
        const unsigned there = columns - column_of(group), most = group ? way->step : lead;
        return there < most ? there : most;
    }

    /* All groups but the first begin with a cache line of their rows: else lines would be loaded
     * for two groups, between which others may push them out. Where rows lie otherwise, with one of
     * their states, if those are as large. `whole`: bytes of a column. */
    void cut(const char *at, const char *states, size_t state, unsigned whole)
    {
        const size_t size = way->step * way->element, unit = size < cache_line ? size : cache_line;
        const bool in_line = slab->row_stride % int64_t(unit) == 0;
        const size_t off = -uintptr_t(in_line ? at : states) % unit;
        lead = way->step;
        if (off && off % whole == 0 && columns >= 4 * way->step &&
            (in_line || (state == whole && slab->count == 1)))
            lead = unsigned((size - unit + off) / way->element);
        groups = columns <= lead ? 1 : 1 + (columns - lead + way->step - 1) / way->step;
    }

    /* Groups that lie at one distance, and are whole but for single ones at the ends. */
    template <class Visit>
    void each_run(Visit visit) const
    {
        const unsigned begin = columns_of(0) < way->step,
                       end = groups - (groups > begin && columns_of(groups - 1) < way->step);
        if (begin)
            visit(0, 1);
        if (begin < end)
            visit(begin, end - begin);
        if (begin <= end && end < groups)
            visit(end, 1);
    }

    /* The columns of groups that are there, of which more may be read. */
    struct column_part part(const char *at, unsigned group, unsigned row, unsigned end)
    {
        const unsigned column = column_of(group), there = columns - column;
        const size_t size = way->step * way->element;
        struct column_part part = {at + int64_t(row) * slab->row_stride + column * way->element,
                                   slab->row_stride, end - row, row, slab->ahead};
        const int64_t last = int64_t(part.rows - 1) * part.stride;
        if (there >= way->step || part.at + (last > 0 ? last : 0) + size <= slab->end)
            return part;
        for (unsigned k = 0; k < part.rows; k++) {
            memset(filled + k * size, 0, size);
            memcpy(filled + k * size, part.at + int64_t(k) * part.stride, there * way->element);
        }
        part.at = filled;
        part.stride = int64_t(size);
        return part;
    }

    void join(char *level) const
    {
        for (unsigned group = 0; group < groups; group++)
            way->join(group_at(level, group), group_at(level, groups + group));
    }

    void fold_part(const char *at, void *states)
    {
        const uint64_t first = slab_row(slab->all, slab->first);
        const unsigned rows = unsigned(slab_row(slab->all, slab->first + 1) - first);
        each_run([&](unsigned group, unsigned count) {
            const struct column_part taken = part(at, group, 0, rows);
            const struct places places = {slab, first, column_of(group)};
            way->make(&taken, count, states, columns_of(group), &places);
        });
    }

    /* Every group takes a part's rows before any takes the next part's. */
    void fold(const char *at, void *states)
    {
        char *const bottom = static_cast<char *>(slab->room), *top = bottom;
        const uint64_t first = slab_row(slab->all, slab->first);
        const size_t level = groups * way->bytes;
        for (unsigned number = 0; number < slab->count; number++) {
            const unsigned row = unsigned(slab_row(slab->all, slab->first + number) - first),
                           end = unsigned(slab_row(slab->all, slab->first + number + 1) - first);
            each_run([&](unsigned group, unsigned count) {
                const struct column_part taken = part(at, group, row, end);
                way->take(group_at(top, group), &taken, count, way->is_tree || number == 0);
            });
            if (!way->is_tree)
                continue;
            for (unsigned done = number; done & 1; done >>= 1)
                join(top -= level);
            top += level;
        }
        for (unsigned group = 0; group < groups; group++) {
            const struct places places = {slab, first, column_of(group)};
            way->put(group_at(bottom, group), states, columns_of(group), &places);
        }
    }
};

SHARED_FUNCTION void fold_blocks(const struct slab *slab, const column_way *way, unsigned parts,
                                 size_t state, char *states)
{
    struct slab_of_columns one;
    one.slab = slab;
    one.way = way;
    one.columns = unsigned(slab->columns) * parts;
    for (uint64_t block = 0; block < slab->blocks; block++) {
        const char *const at = slab->at + int64_t(block) * slab->block_stride;
        char *const to = states + block * slab->columns * state;
        one.cut(at, to, state, parts * unsigned(way->element));
        if (slab->count == 1)
            one.fold_part(at, to);
        else
            one.fold(at, to);
    }
}

/* Rows are more streams than processors follow. */
template <class Way, unsigned N>
LANES_FUNCTION void ask_ahead(const struct column_part &part)
{
    constexpr size_t size = N * Way::step * sizeof(typename Way::element);
    if (part.ahead == 0)
        return;
    for (unsigned k = 0; k < part.rows; k++)
        for (size_t byte = 0; byte < size; byte += cache_line)
            __builtin_prefetch(part.at + int64_t(k) * part.stride + part.ahead + byte);
}

/* Visits groups, several abreast as long as there are as many. */
template <class Way, class Visit>
LANES_FUNCTION void each_abreast(struct part_of<typename Way::element> part, unsigned groups,
                                 Visit visit)
{
    constexpr size_t size = Way::step * sizeof(typename Way::element);
    unsigned group = 0;
    if constexpr (Way::abreast > 1)
        for (; group + Way::abreast <= groups; group += Way::abreast) {
            ask_ahead<Way, Way::abreast>(part);
            auto taken = fresh<Way, Way::abreast>();
            visit(taken.at, part, group);
            part.at += Way::abreast * size;
        }
    for (; group < groups; group++, part.at += size) {
        ask_ahead<Way, 1>(part);
        auto taken = fresh<Way, 1>();
        visit(taken.at, part, group);
    }
}

template <class Way>
void take_part(void *lanes, const struct column_part *rows, unsigned groups, bool anew)
{
    Way *const all = static_cast<Way *>(lanes);
    each_abreast<Way>({*rows}, groups, [=](auto &taken, const auto &part, unsigned group) {
        constexpr unsigned n = sizeof taken / sizeof(Way);
        if (!anew)
            EACH_REGISTER(unsigned g = 0; g < n; g++)
        taken[g] = all[group + g];
        Way::take(taken, part);
        EACH_REGISTER(unsigned g = 0; g < n; g++)
        all[group + g] = taken[g];
    });
}

template <class Joined>
void join_lanes(void *lanes, const void *others)
{
    static_cast<Joined *>(lanes)->join(*static_cast<const Joined *>(others));
}

template <class State>
LANES_FUNCTION State *state_at(void *states, const struct places *places)
{
    return static_cast<State *>(states) + places->column / parts_of<State>::count;
}

template <class Way, class State>
void put_lanes(const void *lanes, void *states, unsigned n, const struct places *places)
{
    static_cast<const Way *>(lanes)->put(state_at<State>(states, places), n, *places);
}

template <class Way, class State>
void make_states(const struct column_part *rows, unsigned groups, void *states, unsigned n,
                 const struct places *places)
{
    each_abreast<Way>({*rows}, groups, [=](auto &taken, const auto &part, unsigned group) {
        constexpr unsigned several = sizeof taken / sizeof(Way);
        Way::take(taken, part);
        EACH_REGISTER(unsigned g = 0; g < several; g++)
        {
            struct places at = *places;
            at.column += (group + g) * Way::step;
            taken[g].put(state_at<State>(states, &at), n, at);
        }
    });
}

template <class Way, class State>
void fold_slab_by(const struct slab *slab, void *states)
{
    constexpr unsigned parts = parts_of<State>::count,
                       groups = SLAB_COLUMNS * parts / Way::step + 1;
    static_assert((Way::is_tree ? tree_levels : 1) * groups * sizeof(Way) <= SLAB_ROOM,
                  "a slab needs more room");
    static constexpr column_way way = {sizeof(Way),
                                       sizeof(typename Way::element),
                                       Way::step,
                                       Way::is_tree,
                                       take_part<Way>,
                                       join_lanes<typename Way::joined>,
                                       put_lanes<Way, State>,
                                       make_states<Way, State>};
    fold_blocks(slab, &way, parts, sizeof(State), static_cast<char *>(states));
}

} // namespace
} // namespace KERNELS
