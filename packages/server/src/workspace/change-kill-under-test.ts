import type { SeenFile } from '@parley/protocol'
import { createFolderChanges } from './folder-changes.ts'
import { createSessionFolder } from './session-folder.ts'

/**
 * A program that discards the changes of one file, commits another file and merges the commit, again and again until
 * it is killed.
 */
const [root = '', folder = '', commandId = '', files = '[]', onto = ''] = process.argv.slice(2)
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
const { commit } = await changes.commit(folder, {
  ...asked,
  command: { type: 'changes.commit', commandId, message: commandId, files: [committed] },
})
const { into } = await changes.previewMerge(folder, asked)
await changes.merge(folder, {
  ...asked,
  command: {
    ...{ type: 'branch.merge', commandId: `${commandId} merge`, branch: 'work', commit },
    ...{ into: 'main', onto, folder: into?.folder },
  },
})
