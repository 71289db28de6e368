import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createHome, type Home } from './program-under-test.ts'

/** Signs a browser in with a link of the running server. */
async function signIn(home: Home, userAgent: string): Promise<string> {
  const link = new URL((await home.run(['token', '--link'])).stdout.trim())
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = publicKey.export({ format: 'der', type: 'spki' }).toString('base64url')
  const response = await fetch(`${link.origin}/api/devices`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': userAgent },
    body: JSON.stringify({ code: link.hash.slice(1), publicKey: spki }),
  })
  return ((await response.json()) as { deviceId: string }).deviceId
}

describe('parley devices', () => {
  it('lists the signed-in browsers, and signs them out', async () => {
    await using home = createHome()
    await home.serve()
    expect(await home.run(['devices'])).toMatchObject({
      exitCode: 0,
      stdout: '',
      stderr: expect.stringContaining('No browser is signed in'),
    })
    const one = await signIn(home, 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0')
    const two = await signIn(home, 'something else')
    const { stdout } = await home.run(['devices'])
    expect(stdout).toMatch(new RegExp(`^ID .*\n${one} +Firefox on Linux +all +now\n${two} +A browser`))
    const json = (await home.run(['devices', '--json'])).stdout.trimEnd().split('\n')
    expect(json.map((line) => JSON.parse(line).deviceId)).toEqual([one, two])

    expect(await home.run(['devices', 'revoke'])).toMatchObject({ exitCode: 2 })
    expect(await home.run(['devices', 'revoke', 'dev_'])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('names 2 signed-in browsers'),
    })
    expect(await home.run(['devices', 'revoke', 'dev_x'])).toMatchObject({ exitCode: 1 })
    expect(await home.run(['devices', 'revoke', one])).toMatchObject({
      exitCode: 0,
      stderr: `Signed out: Firefox on Linux (${one})\n`,
    })
    expect(await home.run(['devices', 'revoke', '--all'])).toMatchObject({ exitCode: 0 })
    expect((await home.run(['devices', '--json'])).stdout).toBe('')
  })
})
