/* The kinds of kernels that there are. */
#pragma once

/* What a kernel does. Its arguments are in brackets. */
enum kernel_kind {
    /* A method's pass over a flat array: (kernel_array, n, partials[, tickets[, epilogue]]); those
     * whose last block folds take an epilogue. The variant is the block size. Each element of type
     * `input` is converted to the accumulator. */
    KERNEL_FLAT,

    /* The same over rows of elements (kernel_rows, ...), masked or not: accumulators are the widest
     * and float32 only, and elements become such without being rounded or cut. So they do in all
     * kernels along axes and of segments. */
    KERNEL_STRIDED,

    /* Along axes (kernel_axes, partials, counts, tickets): of any dimensions, which takes a
     * kernel_axes_of_any; of few elements a result, without splits and with teams within a warp;
     * and of COLUMNS_A_THREAD neighbouring results at a time. */
    KERNEL_ALONG,
    KERNEL_FEW,
    KERNEL_COLUMNS,

    /* The same arguments, of elements of the very type `input`: columns, of which a thread makes as
     * many as a load of 16 bytes takes; those that no threads share; rows whose elements are
     * neighbours; and short ones of these that lie one after the other. */
    KERNEL_TYPED_COLUMNS,
    KERNEL_UNSPLIT_COLUMNS,
    KERNEL_TYPED_ROWS,
    KERNEL_TYPED_SHORT_ROWS,

    /* Of segments. The survey (kernel_segments) looks at offsets and finds tiles' beginnings. Then
     * (kernel_segments, heads, tails) has segments that lie in one tile folded, and of others what
     * lies in a tile, and once more what these become, or, where offsets do not rise or nobody has
     * looked, all segments one by one. Tiles have elements as they lie, or states of one each. */
    KERNEL_SURVEY,
    KERNEL_TILES,
    KERNEL_TILES_OF_STATES,
    KERNEL_SEGMENTS,

    /* Merges states that lie one after the other: (states, n, partials, tickets, epilogue, fold,
     * accumulator). On the ladder the method's own kernel of flat arrays does it. */
    KERNEL_MERGE,

    /* Copies elements of type `input`, or a layout of any type into one of the widest accumulators:
     * (array, n, target), and for a layout (..., accumulator, fill, valid, first): from position
     * `first` on; `fill`, a union scalar, goes where a mask leaves an element out, and there is 0
     * in `valid` then, else 1; it may be null. */
    KERNEL_COPY_FLAT,
    KERNEL_COPY_GATHERED,

    /* One thread makes the result of a state: (state, reduction, struct finish, counted, type of
     * out, out, epilogue). `counted` is the device's own count of what took part, null where
     * finish.count says it. What is posted is that the state is no longer needed. */
    KERNEL_FINISH,

    /* Stores values that lie one after the other in all of a layout, converted: (values, their
     * type, bytes of one, n, layout). */
    KERNEL_STORE,

    /* Exact sums: of a flat array of a type, of the words that pieces have left, and one warp that
     * makes the result of words. As KERNEL_FLAT, KERNEL_MERGE and KERNEL_FINISH, and then (fold,
     * accumulator, watches, exact_result, factors) and (accumulator); `watches` asks for whether
     * there is anything but -0, and only products have factors. */
    KERNEL_EXACT_FLAT,
    KERNEL_EXACT_MERGE,
    KERNEL_EXACT_FINISH,

    /* All exact sums along axes, of the type's elements, which are aligned: (kernel_exact_along).
     * Rows, whose elements lie one after the other, by blocks; and any, by threads, without
     * watching. */
    KERNEL_EXACT_ROWS,
    KERNEL_EXACT_COLUMNS,

    /* Exact sums of products, of two flat arrays of a type, or of one and itself: as the three of
     * sums, and the first then (type, factors' type), which only the kernel of integers takes. */
    KERNEL_EXACT_PRODUCTS,
    KERNEL_EXACT_PRODUCTS_MERGE,
    KERNEL_EXACT_PRODUCTS_FINISH,

    /* Sums of products in an accumulator's arithmetic, of any type; states are FOLD_sum's. */
    KERNEL_DOT,

    /* Counts what a mask lets through: (layout, n, counted). */
    KERNEL_COUNT,

    /* Makes 8 n bytes of a mask from n bytes of its bits: (bits, n, mask). */
    KERNEL_UNPACK,

    /* Reads and does nothing else: (data, n in 16-byte packs, sink). The variant is one of
     * READ_SHAPES. */
    KERNEL_READ,
};
