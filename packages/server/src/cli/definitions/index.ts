import type { Command } from 'commander'
import { addAccessCommands } from './access.ts'
import { addAgentCommands } from './agents.ts'
import { addBranchCommands, addChangeCommands } from './changes.ts'
import { addNotify } from './notify.ts'
import { addCompletions, addOperationCommands } from './operation.ts'
import { addPermissionCommands } from './permissions.ts'
import { addProofCommands } from './proof.ts'
import type { Registry } from './registry.ts'
import { addRoundCommands } from './rounds.ts'
import { addServerCommands } from './server.ts'
import { addSessionCommands } from './sessions.ts'

/** All commands except `serve`, which runs without the definitions of the others. */
export function addOtherCommands(program: Command, registry: Registry): void {
  addSessionCommands(registry)
  addRoundCommands(registry)
  addChangeCommands(registry)
  addBranchCommands(registry)
  addProofCommands(registry)
  addPermissionCommands(registry)
  addAgentCommands(registry)
  addServerCommands(registry)
  addAccessCommands(registry)
  addNotify(registry)
  addOperationCommands(registry)
  addCompletions(program, registry)
}
