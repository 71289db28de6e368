import type { SeenFile } from '@parley/protocol'
import { createFolderChanges } from './folder-changes.ts'
import { createSessionFolder } from './session-folder.ts'

/** Discards one file and commits another one, until it is killed. */
const [root = '', folder = '', commandId = '', files = '[]'] = process.argv.slice(2)
const env = process.env
const changes = createFolderChanges({ env, folders: createSessionFolder({ env, root }) })
const [discarded, committed] = JSON.parse(files) as [SeenFile, SeenFile]
const asked = {
  ...{ sessionId: 'ses_1', base: undefined, trusts: () => false },
  signal: new AbortController().signal,
}
process.stdout.write('ready\n')
await changes.discard(folder, {
  ...asked,
  command: { type: 'changes.discard', commandId, base: 'HEAD', files: [discarded] },
})
await changes.commit(folder, {
  ...asked,
  command: { type: 'changes.commit', commandId, message: commandId, files: [committed] },
})
