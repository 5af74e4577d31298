// SPDX-License-Identifier: Apache-2.0
// Measures the start-up cost that every MPI program has.
#include <mpi.h>

#include <iostream>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, one = 1, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&one, &ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) std::cout << ranks << " ranks" << std::endl;
    MPI_Finalize();
    return 0;
}
