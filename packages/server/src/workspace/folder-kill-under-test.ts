import { createSessionFolder } from './session-folder.ts'

/** A process that takes snapshots and moves a folder between two of them, until it is killed. */
const [root = '', folder = '', ...trees] = process.argv.slice(2)
const { snapshot, restore } = createSessionFolder({ env: process.env, root })
const paths = Array.from({ length: 60 }, (_, index) => `file${index}.txt`)
process.stdout.write('started\n')
for (let round = 0; ; round++) {
  const tree = trees[round % trees.length] ?? ''
  await restore(folder, { sessionId: 'ses_1', tree, paths })
  await snapshot(folder, { sessionId: 'ses_1' })
}
