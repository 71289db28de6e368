import { type Actor, allScopes, type CommandOf, decisionText } from '@parley/protocol'
import { afterAll, describe, expect, it } from 'vitest'
import { permission } from '../core/host-under-test.ts'
import { keyIdOf } from '../core/index.ts'
import { keysOf } from '../proof/keys.ts'
import { sealedHostUnderTest } from '../proof/sealed-log-under-test.ts'
import { verifyLog } from '../proof/verify-log.ts'
import { hostFor } from './guarded-host.ts'
import type { Principal } from './principal.ts'

/** A browser with a key, which signs answers as a real browser does. */
async function browser() {
  const { privateKey, publicKey } = await crypto.subtle.generateKey(
    { name: 'ECDSA', namedCurve: 'P-256' },
    false,
    ['sign', 'verify'],
  )
  const der = Buffer.from(await crypto.subtle.exportKey('spki', publicKey))
  const person: Actor['person'] = { id: 'per_owner', name: 'Ann' }
  const about = { person, kind: 'device', id: 'dev_a', name: 'Phone' } as const
  const principal: Principal = { ...about, scopes: new Set(allScopes), publicKey: der.toString('base64url') }
  const sign = async (text: string) => {
    const value = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, Buffer.from(text))
    return { keyId: keyIdOf(der), value: Buffer.from(value).toString('base64url') }
  }
  return { principal, sign, keys: keysOf([der.toString('base64url')]) }
}

describe('a decision that a browser signs', async () => {
  const sealed = await sealedHostUnderTest()
  afterAll(() => sealed[Symbol.asyncDispose]())
  const { world } = sealed

  async function asked() {
    const session = await world.create()
    await session.submit(permission('a.txt'), { type: 'text', text: 'Done.' })
    const [request] = (await session.when(({ requests }) => requests.length > 0)).requests
    if (request?.type !== 'permission') throw new Error('There is no request.')
    const { requestId, inputHash } = request
    const decision = {
      type: 'permission.decide',
      commandId: `decide ${session.id}`,
      requestId,
      inputHash,
      decision: 'allow',
      scope: 'once',
    } as const
    return { session, decision, text: decisionText({ sessionId: session.id, ...decision }) }
  }

  it('is recorded with its signature, and verified with the key of the browser', async () => {
    const { principal, sign, keys } = await browser()
    const { session, decision, text } = await asked()
    const host = hostFor(world.host, principal, 'http')
    await host.command(session.id, { ...decision, signature: await sign(text) })
    await session.idle()
    const lines = await sealed.linesOf(session.id)
    const verified = verifyLog(lines, sealed.keys, { deviceKeys: keys })
    expect(verified).toMatchObject({ findings: [], signedAnswers: 1 })
    expect(verified.calls[0]).toMatchObject({ by: 'person', signedBy: [...keys.keys()][0] })
    // A program with the server's seal key could seal a changed decision again, but could not sign it as the browser.
    const denied = lines.map((line) => line.replace('"outcome":"allowed"', '"outcome":"denied"'))
    const forged = verifyLog(denied, sealed.keys, { deviceKeys: keys })
    expect(forged.findings.map((one) => one.text)).toContain('has an answer with an invalid signature')
  })

  it.each([
    ['another decision', { decision: 'deny' }],
    ['another request', { requestId: 'req_other' }],
    ['another command', { commandId: 'other' }],
    ['another input', { input: { path: 'b.txt' } }],
  ] as const)('is refused if the signature is for %s', async (_, changed) => {
    const { principal, sign } = await browser()
    const { session, decision, text } = await asked()
    const command = { ...decision, ...changed, signature: await sign(text) } as CommandOf<'permission.decide'>
    const host = hostFor(world.host, principal, 'http')
    await expect(host.command(session.id, command)).rejects.toMatchObject({ code: 'forbidden' })
    expect((await session.state()).requests).toHaveLength(1)
  })

  it('is refused if another key signed it, or if the caller is not a browser', async () => {
    const [{ principal }, other] = [await browser(), await browser()]
    const { session, decision, text } = await asked()
    const command = { ...decision, signature: await other.sign(text) }
    const { publicKey: _, ...token } = { ...principal, kind: 'token' as const }
    for (const caller of [principal, token])
      await expect(hostFor(world.host, caller, 'http').command(session.id, command)).rejects.toMatchObject({
        code: 'forbidden',
      })
  })

  it('is refused with conflict if the input of the request differs from the input that was decided', async () => {
    const { session, decision } = await asked()
    const command = world.host.command(session.id, { ...decision, inputHash: 'another' })
    await expect(command).rejects.toMatchObject({
      code: 'conflict',
      details: { inputHash: decision.inputHash },
    })
  })
})
