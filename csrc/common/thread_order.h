/* The order in which the simulated device runs the threads of a block between two barriers, and the
 * blocks of a grid. Shuffled: anew after every barrier. */
#pragma once

enum thread_order { ORDER_FORWARDS, ORDER_BACKWARDS, ORDER_SHUFFLED };
