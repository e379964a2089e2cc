/* Prints how many cores a control group allows, by the files below the folder that is named. */
#include "common/processor.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    printf("%u\n", cgroup_cores(argc > 1 ? argv[1] : ""));
    return 0;
}
