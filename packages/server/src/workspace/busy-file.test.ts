import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { folderForTest } from '../testing/temporary-folder.ts'
import { git, write } from './hostile-repository-under-test.ts'
import { createSessionFolder } from './session-folder.ts'

const writesAllTheTime = `
  const { openSync, writeSync } = require('node:fs')
  const { randomBytes } = require('node:crypto')
  const file = openSync(require('node:worker_threads').workerData, 'r+')
  for (;;) writeSync(file, randomBytes(65536), 0, 65536, Math.floor(Math.random() * 64) * 65536)
`

it('a snapshot leaves out a file that a program writes continuously, and names it', async () => {
  const { snapshot } = createSessionFolder({ env: process.env, root: join(folderForTest(), 'shadows') })
  const folder = folderForTest()
  git(folder, 'init', '-q')
  write(folder, { 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n' })
  const busy = join(folder, 'busy.db')
  writeFileSync(busy, Buffer.alloc(4 * 1024 * 1024))
  const leftOut = async () => (await snapshot(folder, { sessionId: 'ses_1' })).leftOut
  const writer = new Worker(writesAllTheTime, { eval: true, workerData: busy })
  try {
    await expect.poll(leftOut, { timeout: 30_000 }).toEqual([{ path: 'busy.db', reason: 'unreadable' }])
  } finally {
    await writer.terminate()
  }
  expect(await leftOut()).toEqual([])
})
