import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Limits, newId, type Scope } from '@parley/protocol'
import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { ownerId } from '../access/index.ts'
import { createScriptedAdapter } from '../adapters/scripted/index.ts'
import { type Parley, type StartOptions, startParley } from '../cli/start.ts'
import { openSqliteStore } from '../index.ts'
import { TemporaryFolder } from '../testing/temporary-folder.ts'
import { deviceUnderTest } from './http/device-under-test.ts'
import type { Answer, Asked } from './http/server-under-test.ts'

/** The whole server, and browsers with any scopes and limits. */
export type AccessUnderTest = AsyncDisposable & {
  readonly parley: Parley
  readonly folder: string
  /** Sends a request, with the access token if one is given. */
  ask(path: string, asked?: Asked, token?: string): Promise<Answer>
  /** The access token of a browser that was stored before the server started. */
  signIn(deviceId: string): Promise<string>
  /** A new session of the agent in the folder. */
  session(cwd?: string, agent?: string): Promise<string>
  connect(token: string, path?: string): Promise<SocketUnderTest>
}

export type SocketUnderTest = {
  readonly socket: WebSocket
  readonly frames: Frame[]
  send(frame: object): void
  /** The first frame that satisfies the condition, already received or yet to come. */
  until(holds: (frame: Frame) => boolean): Promise<Frame>
}

type Frame = Record<string, unknown> & { readonly type: string }

export type Stored = {
  readonly scopes: readonly Scope[]
  readonly limits?: Limits
  readonly expiresAt?: number
}

export const machineToken = 'the-token-of-this-machine'

/** Starts a server with one browser for each name. Each browser has the given scopes and limits. */
export async function accessUnderTest<Name extends string = never>(
  browsers: (folder: string) => Readonly<Record<Name, Stored>>,
  options: Partial<StartOptions> = {},
): Promise<AccessUnderTest & { readonly tokens: Readonly<Record<Name, string>> }> {
  const temporary = new TemporaryFolder()
  const folder = temporary.path
  const dataDir = join(folder, 'data')
  const ask = async (path: string, asked: Asked = {}, token?: string): Promise<Answer> => {
    const response = await fetch(parley.http.url + path, {
      method: asked.method ?? (asked.body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(asked.body !== undefined && { 'content-type': 'application/json' }),
        ...asked.headers,
      },
      ...(asked.body !== undefined && { body: JSON.stringify(asked.body) }),
    })
    const text = await response.text()
    const isJson = /^application\/json\b/.test(response.headers.get('content-type') ?? '') && text !== ''
    return { status: response.status, headers: {}, text, body: isJson ? JSON.parse(text) : {} }
  }
  const stored = Object.entries<Stored>(browsers(folder)).map(([name, rights]) => {
    const deviceId = newId('dev')
    const device = deviceUnderTest({ ask, link: () => parley.http.link() }, '', deviceId)
    return { name: name as Name, rights, deviceId, device }
  })
  await seed(dataDir, stored)
  const parley = await startParley({
    dataDir,
    hostname: '127.0.0.1',
    port: 0,
    token: machineToken,
    logger: pino({ level: 'silent' }),
    adapters: [createScriptedAdapter(), createScriptedAdapter({ id: 'other', name: 'Other' })],
    ...options,
  })
  const signIn = (deviceId: string) => {
    const device = stored.find((one) => one.deviceId === deviceId)?.device
    if (!device) throw new Error(`no browser ${deviceId}`)
    return device.token()
  }
  const tokens = {} as Record<Name, string>
  for (const { name, deviceId } of stored) tokens[name] = await signIn(deviceId)
  return {
    parley,
    folder,
    ask,
    signIn,
    tokens,
    session: async (cwd = folder, agent = 'scripted') => (await parley.host.create({ agent, cwd })).id,
    connect: (token, path = '/api/ws') => connect(parley.http.url.replace('http', 'ws') + path, token),
    async [Symbol.asyncDispose]() {
      await parley.close()
      temporary[Symbol.dispose]()
    },
  }
}

type Seeded = {
  readonly name: string
  readonly rights: Stored
  readonly deviceId: string
  readonly device: { readonly publicKey: string }
}

/** Stores the browsers as the server stores them, without the checks of its routes. */
async function seed(dataDir: string, browsers: readonly Seeded[]): Promise<void> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const store = openSqliteStore({ file: join(dataDir, 'parley.sqlite') })
  for (const { name, rights, deviceId, device } of browsers) {
    const data = { name, publicKey: device.publicKey, personId: ownerId, ...rights }
    await store.putAccessRecord({ kind: 'device', id: deviceId, data, createdAt: Date.now() })
  }
  await store.close()
}

async function connect(url: string, token: string): Promise<SocketUnderTest> {
  const socket = new WebSocket(url, ['parley.v1', `bearer.${token}`])
  onTestFinished(() => socket.terminate())
  const frames: Frame[] = []
  let waiting: (() => void)[] = []
  const wake = () => {
    const woken = waiting
    waiting = []
    for (const call of woken) call()
  }
  socket.on('message', (data) => {
    frames.push(JSON.parse(String(data)))
    wake()
  })
  socket.on('close', wake)
  await once(socket, 'open')
  return {
    socket,
    frames,
    send: (frame) => socket.send(JSON.stringify(frame)),
    async until(holds) {
      for (let seen = 0; ; seen++) {
        while (seen >= frames.length) {
          if (socket.readyState !== WebSocket.OPEN) throw new Error(`closed after ${frames.length} frames`)
          await new Promise<void>((resolve) => waiting.push(resolve))
        }
        const frame = frames[seen]
        if (frame && holds(frame)) return frame
      }
    },
  }
}
