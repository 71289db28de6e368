import { initial } from './0001-initial.ts'
import { trustedFolders } from './0002-trusted-folders.ts'
import { agentSessions } from './0003-agent-sessions.ts'
import { environments } from './0004-environments.ts'
import { devices } from './0005-devices.ts'
import { deletions } from './0006-deletions.ts'
import { accessRecords } from './0007-access-records.ts'
import { alerts } from './0008-alerts.ts'
import { ledger } from './0009-ledger.ts'
import { decideLinks } from './0010-decide-links.ts'
import { viewed } from './0011-viewed.ts'
import { projects } from './0012-projects.ts'
import { rounds } from './0013-rounds.ts'

export type Migration = { readonly version: number; readonly sql: string }

/**
 * Every step from an empty file to the current schema. `PRAGMA user_version` is the version of the last step that was
 * applied. To add a step: 1. add a numbered file beside these; 2. give it the next version; 3. append its name here.
 * Never change a published step.
 */
export const migrations: readonly Migration[] = [
  initial,
  trustedFolders,
  agentSessions,
  environments,
  devices,
  deletions,
  accessRecords,
  alerts,
  ledger,
  decideLinks,
  viewed,
  projects,
  rounds,
]
