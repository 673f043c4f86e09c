#include "driver/cli/cli.h"

int main(int argc, char** argv) { return tessera::cli::run(argc, argv); }
