import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { folderForFile } from '../../server/src/testing/temporary-folder.ts'
import { adviseInstall, adviseMissing, programAsTyped, programForTerminal } from './advice.ts'

/** The path contains a space, so that it must be quoted. */
const place = join(folderForFile(), 'a folder')
mkdirSync(place)

const programIn = (folder: string) => {
  mkdirSync(join(place, folder), { recursive: true })
  const path = join(place, folder, 'tiny')
  writeFileSync(path, '#!/bin/sh\n', { mode: 0o755 })
  return path
}

describe('install advice', () => {
  const install = { package: 'tiny-agent', version: '1.0.0' }
  const given = { agent: 'tiny', install, agentsFolder: '/a', parley: undefined }

  it('names the Parley command if Parley uses the agents folder, otherwise the npm command', () => {
    expect(adviseInstall(given)).toBe('Install it: parley agents install tiny')
    const parley = (words: string) => `npm start -- ${words}`
    expect(adviseInstall({ ...given, parley })).toBe('Install it: npm start -- agents install tiny')
    expect(adviseMissing({ ...given, parley })).toBe(adviseInstall({ ...given, parley }))
    const byNpm = { ...given, agentsFolder: undefined, parley }
    expect(adviseInstall(byNpm)).toBe('Install it: npm install -g tiny-agent@1.0.0')
    const library = { programIn: () => undefined, hasOtherProgram: async () => true }
    const advice = adviseInstall({ ...byNpm, install: { ...install, library } })
    expect(advice).toBe('Install it: npm install tiny-agent@1.0.0')
  })

  it('says to correct the configuration if the person configured the program', () => {
    const chosen = { ...given, executable: '/my/tiny' }
    const correct = 'Correct agents.tiny.command in config.json, or remove it.'
    expect(adviseInstall(chosen)).toBe(correct)
    expect(adviseMissing(chosen)).toBe(`There is no program "/my/tiny". ${correct}`)
  })
})

describe('the name to type for a program', () => {
  it('is the program name if the PATH leads to the program, even through a symbolic link', () => {
    const path = programIn('bin')
    expect(programAsTyped(path, { PATH: `/nowhere:${join(place, 'bin')}` })).toBe('tiny')
    mkdirSync(join(place, 'links'))
    symlinkSync(path, join(place, 'links', 'tiny'))
    expect(programAsTyped(path, { PATH: join(place, 'links') })).toBe('tiny')
  })

  it('is otherwise the path, quoted where necessary', () => {
    const path = programIn('mine')
    programIn('other')
    expect(programAsTyped('/opt/tiny', { PATH: '/nowhere' })).toBe('/opt/tiny')
    expect(programAsTyped(path, { PATH: join(place, 'other') })).toBe(`'${path}'`)
    expect(programAsTyped(path, {})).toBe(`'${path}'`)
  })

  it('for a terminal, is the program of that name on the PATH, not the program that Parley runs', () => {
    const path = programIn('ours')
    programIn('own')
    expect(programForTerminal('tiny', path, { PATH: join(place, 'own') })).toBe('tiny')
    expect(programForTerminal('tiny', path, { PATH: '/nowhere' })).toBe(path)
    expect(programForTerminal('tiny', undefined, { PATH: '/nowhere' })).toBe('tiny')
  })

  it('is the path if only a node_modules/.bin folder on the PATH leads to it', () => {
    const path = programIn('node_modules/.bin')
    expect(programAsTyped(path, { PATH: join(place, 'node_modules/.bin') })).toBe(`'${path}'`)
  })
})
