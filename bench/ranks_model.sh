#!/bin/sh
# How many times as fast several ranks are as one, by the formulas of a plan: predict() of src/plan/split.c, for heat
# (seven points, f32, planes of both sides read by each step) on a cube. Nothing is measured. Files are not counted, nor
# spool files, since the ranks hold the grid. tests/cli_ranks.sh compares this script with --explain.
#
# Usage: ranks_model.sh [GCELLS [STEPS]], by default ranks that each take 40 GCells/s alone, and 1000 steps.
# A markdown table for each network: bytes a second and seconds a message are in the list of networks below.
#
# Usage: ranks_model.sh --seconds ALONE PLANES SAMPLES STEPS RANKS BANDWIDTH MESSAGE
# Prints the seconds and the number of ranks of one pass, and those of the grid held together. The grid has PLANES planes of
# SAMPLES samples, and one rank takes ALONE seconds.
set -eu

single=''
if [ "${1-}" = --seconds ]; then
    [ $# = 8 ]
    shift
    single=$*
    shift 7
fi

awk -v gcells="${1-40}" -v steps="${2-1000}" -v single="$single" '
    # One pass: each computes its own planes and, on average of the levels, half of what it reads beside them.
    function one_pass(planes, ranks, alone,   share) {
        share = (planes / ranks + steps) / planes
        return alone * (share < 1 ? share : 1)
    }

    # The grid held together: a plane comes from each neighbour before each step, in messages that take their time. If a rank
    # has 8 times as many planes as a level reads on one side, it exchanges planes while it computes the inside. A level is
    # assumed to take 8 steps at once; each of its pieces computes 7 planes again.
    function held(planes, samples, ranks, alone, bandwidth, message,   pieces, share, computing, exchange) {
        pieces = int(int(planes / ranks) / 8) >= 8 ? 3 : 1
        share = (planes / ranks + 7 * pieces) / planes
        computing = alone * (share < 1 ? share : 1)
        exchange = steps * ((ranks > 2 ? 2 : 1) * samples * 4 / bandwidth + message)
        if (pieces == 1)
            return computing + exchange
        return computing > exchange ? computing : exchange
    }

    # The fastest number of ranks, up to a limit, for each of the two ways.
    function find_fastest(planes, samples, most, alone, bandwidth, message,   ranks, seconds) {
        pass_ranks = held_ranks = 0
        for (ranks = 2; ranks <= most && ranks <= planes; ranks++) {
            seconds = one_pass(planes, ranks, alone)
            if (!pass_ranks || seconds < pass_least) { pass_least = seconds; pass_ranks = ranks }
            seconds = held(planes, samples, ranks, alone, bandwidth, message)
            if (!held_ranks || seconds < held_least) { held_least = seconds; held_ranks = ranks }
        }
    }

    # The cheapest way for up to so many ranks. A letter says which: p for one pass, h for holding.
    function best(side, most, bandwidth, message,   alone) {
        alone = side * side * side * steps / (gcells * 1e9)
        find_fastest(side, side * side, most, alone, bandwidth, message)
        if (pass_least < alone && pass_least <= held_least)
            return sprintf("%.1f p", alone / pass_least)
        return held_least < alone ? sprintf("%.1f h", alone / held_least) : "1.0"
    }

    function table(name, bandwidth, message,   ranks) {
        printf "\n| ranks, %s | 1024³ | 2048³ | 4096³ |\n| --- | --- | --- | --- |\n", name
        for (ranks = 2; ranks <= 1024; ranks *= 2)
            printf "| %d | %s | %s | %s |\n", ranks, best(1024, ranks, bandwidth, message),
                   best(2048, ranks, bandwidth, message), best(4096, ranks, bandwidth, message)
    }

    BEGIN {
        if (split(single, given, " ") > 0) {
            steps = given[4]
            find_fastest(given[2], given[3], given[5], given[1], given[6], given[7])
            print pass_least, pass_ranks, held_least, held_ranks
            exit
        }
        printf "%d steps of heat, ranks of %g GCells/s\n", steps, gcells
        table("100 Gb/s (12 GB/s, 3 µs)", 12e9, 3e-6)
        table("10 GbE (1.2 GB/s, 30 µs)", 1.2e9, 30e-6)
    }'
