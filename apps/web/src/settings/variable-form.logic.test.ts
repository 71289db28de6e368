import { NewEnvironment } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { emptyVariable, variableOf } from './variable-form.logic.ts'

const filled = { ...emptyVariable, folder: ' ~/app ', name: ' TOKEN ', value: ' kept as it is ' }

describe('the form of a variable', () => {
  it('makes a variable for a folder, or for one session', () => {
    const forFolder = { folder: '~/app', variables: { TOKEN: ' kept as it is ' } }
    expect(variableOf(filled)).toEqual({ body: forFolder })
    expect(NewEnvironment.parse(forFolder)).toEqual(forFolder)
    expect(variableOf({ ...filled, sessionId: 'ses_1' })).toEqual({
      body: { sessionId: 'ses_1', variables: forFolder.variables },
    })
  })

  it.each([
    ['without a folder', { folder: '' }, /folder/],
    ['with a folder that is not a full path', { folder: 'app' }, /full path/],
    ['without a name', { name: '' }, /name/],
    ['with an invalid name', { name: 'MY-TOKEN' }, /letters, digits and _/],
    ['without a value', { value: '' }, /value/],
  ])('refuses a variable %s', (_, fields, why) => {
    expect(variableOf({ ...filled, ...fields })).toEqual({ problem: expect.stringMatching(why) })
  })
})
