#pragma once
// Whether the compiler in this process is as it was built: functions of users may stand in for its own.

namespace tessera {

/// A slot of an operator, an implementation or a global function has been set or replaced from outside.
void note_extension();
/// True once that happened: what was compiled by other processes may then not be what this one would make.
bool is_extended();

}  // namespace tessera
