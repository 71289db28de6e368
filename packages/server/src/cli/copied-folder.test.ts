import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createHome, type Home } from './program-under-test.ts'

async function served(home: Home, dataDir: string) {
  const { running, url, token } = await home.serve(['--data-dir', dataDir])
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const made = await fetch(`${url}/api/sessions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ agent: 'demo', cwd: home.folder }),
  })
  const { id } = (await made.json()) as { id: string }
  const status = async () => (await fetch(`${url}/api/sessions/${id}`, { headers })).status
  return { running, url, id, status }
}

it('a copy of a data folder does not reach the server of the original', async () => {
  await using home = createHome()
  const { id, status, url } = await served(home, home.dataDir)
  const copy = join(home.folder, 'copy')
  cpSync(home.dataDir, copy, { recursive: true, preserveTimestamps: true })
  for (const args of [['delete', id, '--yes'], ['sessions'], ['cancel', id], ['token', '--link']]) {
    const { exitCode, stderr, stdout } = await home.run([...args, '--data-dir', copy])
    expect([args[0], exitCode === 0, stdout]).toEqual([args[0], false, ''])
    expect(stderr).toContain(`${copy} is a copy of a data folder that a server was using`)
    expect(stderr).toContain('--data-dir')
  }
  expect(await status()).toBe(200)
  expect((await home.run(['sessions'])).stdout).toContain(id)

  // The error message advises removing the record: without it, the copy is an independent folder.
  rmSync(join(copy, 'parley.sqlite.owner.json'))
  expect((await home.run(['delete', id, '--yes', '--data-dir', copy])).exitCode).toBe(0)
  expect(await status()).toBe(200)
  const health = await (await fetch(`${url}/api/health`)).text()
  expect(health).not.toContain(home.folder)
})

it('commands find the running server of a data folder that was moved', async () => {
  await using home = createHome()
  const { id, status } = await served(home, home.dataDir)
  const moved = join(home.folder, 'moved')
  renameSync(home.dataDir, moved)
  expect((await home.run(['sessions', '--data-dir', moved])).stdout).toContain(id)
  expect(await status()).toBe(200)
})

it('an owner record whose URL now belongs to another server is ignored', async () => {
  await using home = createHome()
  const other = await served(home, join(home.folder, 'other'))
  mkdirSync(home.dataDir, { mode: 0o700 })
  cpSync(join(home.folder, 'other/token'), join(home.dataDir, 'token'))
  const { stdout } = await home.run(['run', 'demo', 'help', '--json'])
  expect(stdout).toContain('turn.ended')
  const record = join(home.dataDir, 'parley.sqlite.owner.json')
  expect(existsSync(record)).toBe(false)
  const theirs = JSON.parse(readFileSync(join(home.folder, 'other/parley.sqlite.owner.json'), 'utf8'))
  writeFileSync(record, JSON.stringify({ ...theirs, instance: 'of an earlier run' }), { mode: 0o600 })
  const { stdout: listed, exitCode } = await home.run(['sessions'])
  expect(exitCode).toBe(0)
  expect(listed).not.toContain(other.id)
})
