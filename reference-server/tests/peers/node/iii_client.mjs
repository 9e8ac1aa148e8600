// Drives the session functions with the published iii SDK for Node, unmodified: every public function is called, every event type received.
// Arguments: the folder with the SDK in its node_modules, the address of the endpoint, the name of a check. Exits with 0 when it holds.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

process.env.OTEL_ENABLED = 'false' // no second connection for telemetry

const [folder, address, check] = process.argv.slice(2)
const { registerWorker } = createRequire(pathToFileURL(`${folder}/x.js`))('iii-sdk')

const connect = (name) => registerWorker(address, { workerName: name, otel: { enabled: false }, enableMetricsReporting: false })

function caller(name) {
  const client = connect(name)
  return { client, call: (id, payload = {}) => client.trigger({ function_id: `session::${id}`, payload }) }
}

const user = (text) => ({ role: 'user', content: [{ type: 'text', text }], timestamp: 1 })

const checks = {
  async every_function() {
    const { client, call } = caller('every-function')
    const { session_id, meta } = await call('create', { title: 'T', metadata: { owner: 'n' } })
    assert.deepEqual((await call('get', { session_id })).meta, meta)
    assert.equal((await call('ensure', { session_id })).created, false)
    assert.deepEqual((await call('list', { metadata: { owner: 'n' } })).sessions.map((row) => row.session_id), [session_id])
    assert.equal((await call('set-meta', { session_id, title: 'U' })).meta.title, 'U')
    assert.equal((await call('set-status', { session_id, status: 'working' })).previous_status, 'idle')
    const first = (await call('append', { session_id, message: user('one') })).entry_id
    const { entry_ids } = await call('append-many', { session_id, messages: [user('two'), user('three')] })
    assert.deepEqual(await call('update-message', { session_id, entry_id: first, content: [] }), { updated: true, revision: 1 })
    const ids = [first, ...entry_ids]
    assert.deepEqual((await call('messages', { session_id })).messages.map((row) => row.entry_id), ids)
    assert.equal((await call('messages-tail', { session_id, limit: 1 })).oldest_entry_id, ids[2])
    assert.equal((await call('messages-range', { session_id, entry_ids: [first] })).messages.length, 1)
    assert.equal((await call('get-message', { session_id, entry_id: first })).entry.revision, 1)
    assert.equal((await call('get-message', { session_id, entry_id: 'nope' })) ?? null, null)
    const { attachment_id } = (await call('put-attachment', { session_id, name: 'n', mime: 'm', data: 'AAEC' })).attachment
    assert.equal((await call('get-attachment', { session_id, attachment_id })).data, 'AAEC')
    assert.equal((await call('list-attachments', { session_id })).attachments.length, 1)
    assert.equal((await call('set-draft', { session_id, draft: 'd' })).draft, 'd')
    assert.deepEqual(await call('delete-attachment', { session_id, attachment_id }), { deleted: true })
    assert.deepEqual(await call('set-active-leaf', { session_id, entry_id: first }), { active_leaf: first })
    assert.equal((await call('fork', { session_id, entry_id: first })).meta.forked_from, session_id)
    assert.equal((await call('mention::search', { query: 'U' })).items.length, 2)
    assert.equal((await call('mention::get', { id: session_id })).label, 'U')
    assert.equal((await call('config-status')).last_outcome, 'applied')
    assert.deepEqual(await call('on-config-change'), { ok: true })
    assert.deepEqual(await call('delete', { session_id }), { deleted: true })
    await client.shutdown()
  },

  async error_codes() {
    const { client, call } = caller('error-codes')
    const { session_id } = await call('create')
    const refused = (code, id, payload) => assert.rejects(call(id, payload), (error) => String(error).includes(`${code}: `))
    await refused('session/not_found', 'messages', { session_id: 'nope' })
    await refused('session/empty_batch', 'append-many', { session_id, messages: [] })
    await refused('session/invalid_request', 'append', { session_id })
    await refused('session/parent_not_found', 'append', { session_id, message: user('x'), parent_id: 'nope' })
    await assert.rejects(call('create', { title: 5 }), (error) => !String(error).includes('session/'))
    await client.shutdown()
  },

  async every_event() {
    const watcher = connect('watcher')
    const { client, call } = caller('actor')
    const seen = []
    let wake = () => {}
    const types = ['created', 'message-added', 'message-updated', 'status-changed', 'meta-updated', 'deleted']
    for (const type of types) {
      watcher.registerFunction(`on-${type}`, async (payload) => {
        seen.push([type, payload.session_id])
        wake()
        return null
      })
      watcher.registerTrigger({ type: `session::${type}`, function_id: `on-${type}`, config: {} })
    }
    // The answer of a call over the same connection tells that everything before it has been read.
    await watcher.trigger({ function_id: 'session::config-status', payload: {} })
    const { session_id } = await call('create')
    const { entry_id } = await call('append', { session_id, message: user('x') })
    await call('update-message', { session_id, entry_id, content: [] })
    await call('set-status', { session_id, status: 'done' })
    await call('set-meta', { session_id, title: 't' })
    await call('delete', { session_id })
    while (seen.length < types.length) await new Promise((resolve) => (wake = resolve))
    assert.deepEqual(seen.map(([type]) => type).sort(), [...types].sort())
    assert.ok(seen.every(([, id]) => id === session_id))
    await watcher.shutdown()
    await client.shutdown()
  },
}

await checks[check]()
process.exit(0)
