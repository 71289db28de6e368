import { describe, expect, it } from 'vitest'
import { folderChoices } from './folder-choices.logic.ts'

describe('folders to choose from', () => {
  const recents = ['/home/me/parley', '/home/me/other']

  it('are those worked in before and those found, each once', () => {
    expect(folderChoices('/home/me/p', recents, ['/home/me/parley', '/home/me/pictures'])).toEqual([
      { value: '/home/me/parley', note: 'recent' },
      { value: '/home/me/pictures' },
    ])
  })

  it('are found by any part of the path, and not offered when they are what was typed', () => {
    expect(folderChoices('OTHER', recents, []).map(({ value }) => value)).toEqual(['/home/me/other'])
    expect(folderChoices('~/par', recents, []).map(({ value }) => value)).toEqual(['/home/me/parley'])
    expect(folderChoices('/home/me/other', recents, [])).toEqual([])
    expect(folderChoices('', recents, [])).toHaveLength(2)
  })

  it('are none where the whole folder is typed and nothing else fits', () => {
    expect(folderChoices('~/shop', [], ['~/shop'])).toEqual([])
    expect(folderChoices('~/shop', [], ['~/shop', '~/shop-old'])).toEqual([{ value: '~/shop-old' }])
  })
})
