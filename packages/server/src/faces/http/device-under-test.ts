import { generateKeyPairSync, sign } from 'node:crypto'
import { signedText } from '@parley/protocol'
import type { Answer, ServerUnderTest } from './server-under-test.ts'

/** A browser under test: its key, and its calls that use the key. */
export function deviceUnderTest(server: Pick<ServerUnderTest, 'ask' | 'link'>, origin = '', id = '') {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = publicKey.export({ format: 'der', type: 'spki' }).toString('base64url')
  const headers: Record<string, string> = {
    ...(origin && { origin }),
    'user-agent': 'Test Firefox/1 (Linux)',
  }
  let deviceId = id
  const ask = (path: string, body: unknown) => server.ask(path, { token: false, headers, body })
  return {
    get deviceId() {
      return deviceId
    },
    publicKey: spki,
    async register(code = codeOf(server.link()), person?: { name: string }): Promise<Answer> {
      const answer = await ask('/api/devices', { code, publicKey: spki, ...(person && { person }) })
      if (answer.status === 201) deviceId = answer.body.deviceId as string
      return answer
    },
    async nonce(): Promise<string> {
      return (await ask('/api/nonces', {})).body.nonce as string
    },
    signed(nonce: string, about: Partial<{ origin: string; deviceId: string }> = {}) {
      return { deviceId, nonce, signature: this.sign(signedText({ origin, deviceId, nonce, ...about })) }
    },
    sign(text: string): string {
      const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
      return sign('sha256', Buffer.from(text), key).toString('base64url')
    },
    redeem: (body: unknown) => ask('/api/access-tokens', body),
    async token(): Promise<string> {
      const answer = await this.redeem(this.signed(await this.nonce()))
      if (answer.status !== 201) throw new Error(`no access token: ${answer.text}`)
      return answer.body.token as string
    },
  }
}

export type DeviceUnderTest = ReturnType<typeof deviceUnderTest>

/** A signed-in device with its Authorization header. */
export async function signedIn(server: ServerUnderTest, origin?: string) {
  const device = deviceUnderTest(server, origin)
  const { status, text } = await device.register()
  if (status !== 201) throw new Error(`not signed in: ${text}`)
  const token = await device.token()
  return { device, token, headers: { authorization: `Bearer ${token}` } }
}

export function codeOf(link: string): string {
  return new URL(link).hash.slice(1)
}
