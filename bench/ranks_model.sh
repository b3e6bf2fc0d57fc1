#!/bin/sh
# How many times as fast several ranks are as one, by the formulas of a plan: predict() of src/plan/division.c, for heat
# (seven points, f32, planes of both sides read by each step) on a cube. Nothing is measured. Files are not counted, nor
# spool files, since the ranks hold the grid.
#
# Usage: ranks_model.sh [GCELLS [STEPS]], by default ranks that each take 40 GCells/s alone, and 1000 steps.
# A markdown table for each network: bytes a second and seconds a message are in the list of networks below.
set -eu

awk -v gcells="${1-40}" -v steps="${2-1000}" '
    # One pass: each computes its own planes and, on average of the levels, half of what it reads beside them.
    function one_pass(side, ranks, alone,   share) {
        share = (side / ranks + steps) / side
        return alone * (share < 1 ? share : 1)
    }

    # The grid held together: two planes come from others before each step, in messages that take their time.
    function held(side, ranks, alone, bandwidth, message) {
        return alone / ranks + 2 * steps * side * side * 4 / bandwidth + steps * message
    }

    # The cheapest way for up to so many ranks. A letter says which: p for one pass, h for holding.
    function best(side, most, bandwidth, message,   alone, ranks, seconds, least, way) {
        alone = side * side * side * steps / (gcells * 1e9)
        least = alone
        way = ""
        for (ranks = 2; ranks <= most && ranks <= side; ranks++) {
            seconds = one_pass(side, ranks, alone)
            if (seconds < least) { least = seconds; way = " p" }
            seconds = held(side, ranks, alone, bandwidth, message)
            if (seconds < least) { least = seconds; way = " h" }
        }
        return sprintf("%.1f%s", alone / least, way)
    }

    function table(name, bandwidth, message,   ranks) {
        printf "\n| ranks, %s | 1024³ | 2048³ | 4096³ |\n| --- | --- | --- | --- |\n", name
        for (ranks = 2; ranks <= 1024; ranks *= 2)
            printf "| %d | %s | %s | %s |\n", ranks, best(1024, ranks, bandwidth, message),
                   best(2048, ranks, bandwidth, message), best(4096, ranks, bandwidth, message)
    }

    BEGIN {
        printf "%d steps of heat, ranks of %g GCells/s\n", steps, gcells
        table("100 Gb/s (12 GB/s, 3 µs)", 12e9, 3e-6)
        table("10 GbE (1.2 GB/s, 30 µs)", 1.2e9, 30e-6)
    }'
